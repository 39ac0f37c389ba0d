import { readdirSync } from 'node:fs'

export const ROOT = new URL('../../', import.meta.url)

/** Every page of the project, relative to its root. */
export function markdownFiles(): string[] {
  const pages = ['docs', 'examples'].flatMap((folder) =>
    readdirSync(new URL(`${folder}/`, ROOT), { recursive: true, encoding: 'utf8' }).map(
      (file) => `${folder}/${file.replaceAll('\\', '/')}`,
    ),
  )
  return [...readdirSync(ROOT), ...pages].filter((file) => file.endsWith('.md')).sort()
}
