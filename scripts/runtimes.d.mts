/** Path of the program, which is fetched on first use. */
export function nodeBinary(major: 22 | 24): string
export function bun(): string
export function deno(): string
