import { mkdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'esbuild'

/** A change of one place in the sources. */
export interface Patch {
  /** Relative to the root of the repository. */
  readonly file: string
  /** Occurs exactly once in the file, else the patch is stale. */
  readonly find: string
  readonly replace: string
}

export class StalePatchError extends Error {}

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = fileURLToPath(new URL('../../.cache/simulation/', import.meta.url))

/** Builds the worker with the sources as they are, or with patches applied, and returns the path of the file. */
export async function bundleWorker(name: string, patches: readonly Patch[] = []): Promise<string> {
  mkdirSync(folder, { recursive: true })
  const outfile = `${folder}${name.replaceAll(/[^a-z0-9]+/gi, '-')}.mjs`
  const patched = new Map<string, string>()
  for (const patch of patches) {
    const path = resolve(root, patch.file)
    patched.set(path, applyPatch(patched.get(path) ?? readFileSync(path, 'utf8'), patch))
  }
  await build({
    entryPoints: [fileURLToPath(new URL('./worker.ts', import.meta.url))],
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    sourcemap: 'inline',
    logLevel: 'silent',
    outfile,
    plugins: [replacing(patched)],
  })
  return outfile
}

export function applyPatch(text: string, { file, find, replace }: Patch): string {
  const places = text.split(find).length - 1
  if (places !== 1)
    throw new StalePatchError(`${file}: ${JSON.stringify(find)} occurs ${places} times instead of once`)
  return text.replace(find, () => replace)
}

function replacing(texts: ReadonlyMap<string, string>): Plugin {
  return {
    name: 'patches',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const contents = texts.get(path)
        return contents === undefined ? undefined : { contents, loader: 'ts' }
      })
    },
  }
}
