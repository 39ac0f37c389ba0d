import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

export interface Certificates {
  /** The authority that signs for the server. */
  readonly authority: string
  readonly certificate: string
  readonly key: string
}

/** An authority of one's own in that folder, and a certificate from it for the loopback interface. */
export function makeCertificates(folder: string): Certificates {
  const file = (name: string) => join(folder, name)
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' })
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  openssl(
    'req',
    '-x509',
    ...key,
    '-keyout',
    'authority.key',
    '-out',
    'authority.pem',
    '-subj',
    '/CN=authority',
  )
  openssl(
    ...['req', '-x509', ...key, '-keyout', 'server.key', '-out', 'server.pem', '-subj', '/CN=localhost'],
    ...['-CA', 'authority.pem', '-CAkey', 'authority.key'],
    ...[
      '-addext',
      'subjectAltName=DNS:localhost,IP:127.0.0.1',
      '-addext',
      'basicConstraints=critical,CA:FALSE',
    ],
  )
  return { authority: file('authority.pem'), certificate: file('server.pem'), key: file('server.key') }
}
