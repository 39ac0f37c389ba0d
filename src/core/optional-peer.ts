// The whole module: webpack follows a `createRequire` that is imported by name.
import nodeModule from 'node:module'
import { UnsupportedError } from '../errors.ts'

/**
 * Loads an optional peer; null if it is not installed. Any other failure is thrown.
 *
 * The name is a variable and the comments address bundlers: none of them looks for the peer, so a program can be bundled
 * where it is absent, and the peer is loaded from `node_modules` when a store asks for it.
 */
export async function optionalPeer<T>(name: string): Promise<T | null> {
  try {
    return await load<T>(name)
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') return null
    throw error
  }
}

/** The error for a URL whose client library is not installed. */
export function clientMissing(scheme: string, clients: readonly string[], entry: string): UnsupportedError {
  const installs = clients.map((name) => `npm install ${name}`).join(', or ')
  return new UnsupportedError(
    `${scheme}:// needs a client library: ${installs}; a bundle without node_modules gives its client to ${entry}`,
  )
}

/** Loads an optional peer synchronously; throws if it is not installed. */
export function requirePeer(name: string): unknown {
  // A CommonJS bundle has no `import.meta`, or that of the build machine.
  const here = typeof __filename === 'undefined' ? import.meta.url : __filename
  return nodeModule.createRequire(here)(name)
}

async function load<T>(name: string): Promise<T> {
  try {
    return await import(/* webpackIgnore: true */ /* @vite-ignore */ name)
  } catch (error) {
    if (!codeOf(error)?.startsWith('ERR_VM_DYNAMIC_IMPORT_CALLBACK_MISSING')) throw error
    // Jest runs CommonJS where import() is not available.
    const exported = requirePeer(name)
    return { ...(exported as T), default: exported }
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as { code?: string }).code
}
