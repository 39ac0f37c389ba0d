import { build, type Metafile } from 'esbuild'

/** Packages that users bring themselves, with the entry points that need them. */
const FRAMEWORKS = ['@nestjs/common', '@opentelemetry/api', 'prom-client']

/** Bytes that a program with this one line loads when it starts: minified, without what is loaded only when it is used. */
export async function sizeOf(line: string, resolveDir: string): Promise<number> {
  const { metafile } = await build({
    stdin: { contents: line, resolveDir, sourcefile: 'line.js' },
    bundle: true,
    minify: true,
    splitting: true,
    treeShaking: true,
    format: 'esm',
    platform: 'node',
    external: FRAMEWORKS,
    outdir: 'out',
    write: false,
    metafile: true,
    logLevel: 'silent',
  })
  return bytesOf(metafile)
}

function bytesOf({ outputs }: Metafile): number {
  const loaded = new Set(
    Object.keys(outputs).filter((file) => outputs[file]?.entryPoint?.endsWith('line.js')),
  )
  for (const file of loaded)
    for (const { path, kind, external } of outputs[file]?.imports ?? [])
      if (kind === 'import-statement' && !external) loaded.add(path)
  return [...loaded].reduce((sum, file) => sum + (outputs[file]?.bytes ?? 0), 0)
}
