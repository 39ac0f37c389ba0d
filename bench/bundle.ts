import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** Loaded when a URL asks for them, by the code that is bundled here. */
const CLIENTS = ['ioredis', 'redis', 'pg', 'postgres', 'mysql2', 'mariadb']

const OTHERS = ['async-mutex', 'proper-lockfile', 'prom-client', '@opentelemetry/api']

/** Programs as plain JavaScript, so that neither their start nor their speed depends on how TypeScript is loaded. */
export class Bundle {
  private readonly folder: string

  private constructor(folder: string) {
    this.folder = folder
  }

  static async of(...programs: readonly URL[]): Promise<Bundle> {
    // Where the packages that they import are found, ours and the other libraries.
    const packages = join(ROOT, 'bench', 'node_modules')
    mkdirSync(packages, { recursive: true })
    const folder = mkdtempSync(join(packages, '.holdfast-bundle-'))
    await build({
      absWorkingDir: ROOT,
      entryPoints: programs.map((program) => fileURLToPath(program)),
      outdir: folder,
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: 'node20',
      external: [...CLIENTS, ...OTHERS],
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
