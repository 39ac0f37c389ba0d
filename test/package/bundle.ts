import { dirname, join } from 'node:path'
import { build as esbuild } from 'esbuild'
import { rollup } from 'rollup'
import { createLogger, build as vite } from 'vite'
import { type Configuration, webpack } from 'webpack'

/** Bundles everything that a file needs, the package included, into one folder, and says what the bundler complained about. */
export interface Bundler {
  readonly name: string
  /** How the program asks for the package. */
  readonly by: 'import' | 'require'
  /** Name of the program in the folder that was made. */
  readonly program: string
  bundle(entry: string, folder: string, installed: string): Promise<readonly string[]>
}

const overEsbuild = (by: Bundler['by'], format: 'esm' | 'cjs'): Bundler => ({
  name: `esbuild, ${by} to ${format}`,
  by,
  program: format === 'esm' ? 'main.mjs' : 'main.cjs',
  async bundle(entry, outdir) {
    const outExtension = { '.js': format === 'esm' ? '.mjs' : '.cjs' }
    const options = { bundle: true, minify: true, platform: 'node', format, logLevel: 'silent' } as const
    const { errors, warnings } = await esbuild({
      entryPoints: { main: entry },
      outdir,
      outExtension,
      ...options,
    })
    return [...errors, ...warnings].map(({ text }) => text)
  },
})

const overWebpack = (by: Bundler['by']): Bundler => ({
  name: `webpack, ${by} to cjs`,
  by,
  program: 'main.cjs',
  async bundle(entry, path) {
    const configuration: Configuration = {
      mode: 'production',
      target: 'node20',
      entry,
      context: path,
      optimization: { minimize: false },
      output: { path, filename: 'main.cjs' },
    }
    const stats = await new Promise<{ errors?: Complaint[]; warnings?: Complaint[] }>((resolve, reject) => {
      webpack(configuration, (error, result) => {
        if (result === undefined) reject(error)
        else resolve(result.toJson({ all: false, errors: true, warnings: true }))
      })
    })
    return [...(stats.errors ?? []), ...(stats.warnings ?? [])].map(({ message }) => message)
  },
})

interface Complaint {
  readonly message: string
}

export const BUNDLERS: readonly Bundler[] = [
  overEsbuild('import', 'esm'),
  overEsbuild('import', 'cjs'),
  overEsbuild('require', 'cjs'),
  overWebpack('import'),
  overWebpack('require'),
  {
    name: 'Rollup',
    by: 'import',
    program: 'main.mjs',
    async bundle(input, folder, installed) {
      const complaints: string[] = []
      const made = await rollup({
        input,
        external: /^node:/,
        onLog: (_level, { message }) => complaints.push(message),
        // Rollup alone finds no packages.
        plugins: [
          {
            name: 'holdfast',
            resolveId: (id) => {
              const found = /^holdfast(?:\/(.+))?$/.exec(id)
              return found === null ? null : join(installed, 'dist', `${found[1] ?? 'index'}.js`)
            },
          },
        ],
      })
      await made.write({
        dir: folder,
        entryFileNames: 'main.mjs',
        chunkFileNames: '[name].mjs',
        format: 'es',
      })
      await made.close()
      return complaints
    },
  },
  {
    name: 'Vite',
    by: 'import',
    program: 'main.mjs',
    async bundle(entry, outDir) {
      const complaints: string[] = []
      const complain = (message: string): void => void complaints.push(message)
      const logger = { ...createLogger('silent'), warn: complain, warnOnce: complain, error: complain }
      await vite({
        configFile: false,
        logLevel: 'warn',
        root: dirname(entry),
        customLogger: logger,
        ssr: { noExternal: true },
        build: {
          ssr: entry,
          outDir,
          emptyOutDir: false,
          target: 'node20',
          rollupOptions: { output: { entryFileNames: 'main.mjs', chunkFileNames: '[name].mjs' } },
        },
      })
      return complaints
    },
  },
]
