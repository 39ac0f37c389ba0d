// Makes sure that the server programs of the tests are there. Does nothing when they are found; else installs
// Debian's packages, without starting their services.
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { pathToFileURL } from 'node:url'

const PACKAGES = {
  'redis-server': 'redis-server',
  'redis-sentinel': 'redis-sentinel',
  'redis-cli': 'redis-tools',
  'redis-benchmark': 'redis-tools',
  openssl: 'openssl',
  etcd: 'etcd-server',
  java: 'default-jre-headless',
  mariadbd: 'mariadb-server',
  pgbouncer: 'pgbouncer',
  promtool: 'prometheus',
}
const MACHINE = process.arch === 'arm64' ? 'aarch64' : 'x86_64'
/** Servers outside of the program folders: ZooKeeper is a library that Java starts, and PostgreSQL keeps its servers by version. */
const FILES = {
  [`/usr/lib/${MACHINE}-linux-gnu/faketime/libfaketimeMT.so.1`]: 'libfaketime',
  '/usr/share/java/zookeeper.jar': 'libzookeeper-java',
  '/usr/lib/postgresql/15/bin/postgres': 'postgresql-15',
}
/** Debian asks this file whether a service may be started; 101 says no. */
const POLICY = '/usr/sbin/policy-rc.d'

/** The path of a program, or null. */
export function findProgram(name) {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const file = join(folder, name)
    try {
      accessSync(file, constants.X_OK)
      return file
    } catch {
      // Not in this folder.
    }
  }
  return null
}

export function installServers() {
  const missing = [
    ...Object.keys(PACKAGES).filter((name) => findProgram(name) === null),
    ...Object.keys(FILES).filter((file) => !existsSync(file)),
  ]
  if (missing.length === 0) return
  const packages = [...new Set(missing.map((name) => PACKAGES[name] ?? FILES[name]))]
  const advice = `The tests need ${missing.join(', ')}: install ${packages.join(', ')}`
  if (findProgram('apt-get') === null) throw new Error(`${advice} (there is no apt-get here to do it)`)
  if (process.getuid?.() !== 0) throw new Error(`${advice} (only root may do it with apt-get)`)
  const hadPolicy = existsSync(POLICY)
  if (!hadPolicy) writeFileSync(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    const install = ['install', '-y', '--no-install-recommends', ...packages]
    if (!apt(install).ok) {
      const update = apt(['update'])
      const again = apt(install)
      if (!again.ok) throw new Error(`${advice}\n${update.output}${again.output}`)
    }
  } finally {
    if (!hadPolicy) rmSync(POLICY, { force: true })
  }
}

function apt(args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const { status, stdout, stderr } = spawnSync('apt-get', args, { env, encoding: 'utf8' })
  return { ok: status === 0, output: `${stdout}${stderr}` }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  try {
    installServers()
  } catch (error) {
    console.error(error.message)
    process.exitCode = 1
  }
}
