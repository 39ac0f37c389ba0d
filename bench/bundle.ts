import { mkdtempSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** Programs as plain JavaScript, so that neither their start nor their speed depends on how TypeScript is loaded. */
export class Bundle {
  private readonly folder: string

  private constructor(folder: string) {
    this.folder = folder
  }

  static async of(...programs: readonly URL[]): Promise<Bundle> {
    // Inside the project, so that the packages they import are found.
    const folder = mkdtempSync(join(ROOT, 'node_modules', '.holdfast-bundle-'))
    await build({
      absWorkingDir: ROOT,
      entryPoints: programs.map((program) => fileURLToPath(program)),
      outdir: folder,
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: 'node20',
      external: ['async-mutex', 'proper-lockfile', 'ioredis', 'redis'],
      logLevel: 'silent',
      outExtension: { '.js': '.mjs' },
    })
    return new Bundle(folder)
  }

  path(program: URL): string {
    return join(this.folder, basename(program.pathname).replace(/\.ts$/, '.mjs'))
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}
