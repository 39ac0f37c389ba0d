import { spawn } from 'node:child_process'
import { hostname } from 'node:os'
import { describe, expect, it } from 'vitest'
import { stoppedPid, whyGone } from '../../../src/observe/doctor/processes.ts'
import { stateOf } from '../../cli/support/command.ts'

describe('a process', () => {
  it('is gone when it is not there, or is another one', () => {
    expect(whyGone(`${hostname()}:${process.pid}`, 0)).toBeNull()
    expect(whyGone(`${hostname()}:999999999`, 0)).toMatch(/no process 999999999/)
    expect(whyGone(`${hostname()}:${process.ppid}`, Date.now())).toBeNull()
    if (process.platform === 'linux')
      expect(whyGone(`${hostname()}:${process.ppid}`, 0)).toMatch(/began later/)
  })

  it.runIf(process.platform === 'linux')(
    'is stopped by a signal, and so is one whose command is',
    async () => {
      const shell = spawn('sh', ['-c', 'sleep 60 & echo $!; wait'], { stdio: ['ignore', 'pipe', 'ignore'] })
      const sleeper = Number(await new Promise((resolve) => shell.stdout.once('data', resolve)))
      const label = `${hostname()}:${shell.pid}`
      const settled = async (pid: number, state: string) => {
        while (stateOf(pid) !== state) await new Promise(setImmediate)
      }
      try {
        await settled(sleeper, 'S')
        expect(stoppedPid(label)).toBeNull()
        process.kill(sleeper, 'SIGSTOP')
        await settled(sleeper, 'T')
        expect(stoppedPid(label)).toBe(sleeper)
        shell.kill('SIGSTOP')
        await settled(shell.pid as number, 'T')
        expect(stoppedPid(label)).toBe(shell.pid)
        expect(stoppedPid(`elsewhere.example:${shell.pid}`)).toBeNull()
      } finally {
        process.kill(sleeper, 'SIGKILL')
        shell.kill('SIGKILL')
      }
    },
  )

  it('of another host, or with a label of its own, may live', () => {
    expect(whyGone('elsewhere.example:999999999', 0)).toBeNull()
    expect(whyGone('billing', 0)).toBeNull()
  })
})
