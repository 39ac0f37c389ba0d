// As a whole: webpack follows a `createRequire` that is imported by its name.
import nodeModule from 'node:module'
import { UnsupportedError } from '../errors.ts'

/**
 * An optional peer, or null where it is not installed; any other failure to load it is the user's to see.
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

/** For a URL that names a server whose client is absent. */
export function clientMissing(scheme: string, clients: readonly string[], entry: string): UnsupportedError {
  const installs = clients.map((name) => `npm install ${name}`).join(', or ')
  return new UnsupportedError(
    `${scheme}:// needs a client library: ${installs}; a bundle without node_modules gives its client to ${entry}`,
  )
}

/** An optional peer, at once; throws where it is not installed. */
export function requirePeer(name: string): unknown {
  // A bundle in CommonJS knows no `import.meta`, or that of the machine where it was made.
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
