import { EPISODES } from '../../lab/generations/stories/episodes.ts'

/** Every generation in its fault: what happens, the picture of a run, and what it means. */
export function generations(): string {
  return EPISODES.map(({ name, title, about, verdict }) =>
    [
      `### ${title.replace('  ', ': ')}`,
      about,
      `![Timeline: ${title.replace('  ', ': ')}](pictures/${name}.svg)`,
      verdict,
    ].join('\n\n'),
  ).join('\n\n')
}
