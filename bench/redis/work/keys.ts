/** Subjects share a server, and some of them the way they use a key. */
export function keyOf(subject: string, index: number): string {
  return `${subject}:${index}`
}
