import { expect, it } from 'vitest'
import { defaultFile } from '../../src/cli/store.ts'

it.each([
  ['linux', {}, '/home/ada/.local/state/holdfast/locks.db'],
  ['linux', { XDG_STATE_HOME: '/state' }, '/state/holdfast/locks.db'],
  ['linux', { XDG_STATE_HOME: 'relative' }, '/home/ada/.local/state/holdfast/locks.db'],
  ['darwin', {}, '/home/ada/Library/Application Support/holdfast/locks.db'],
  ['win32', { LOCALAPPDATA: '/local' }, '/local/holdfast/locks.db'],
  ['win32', {}, '/home/ada/AppData/Local/holdfast/locks.db'],
] as const)('on %s with %j the default file is %s', (platform, env, file) => {
  expect(defaultFile(platform, env, '/home/ada')).toBe(file)
})
