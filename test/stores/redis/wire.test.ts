import { expect, test } from 'vitest'
import { wireText } from '../../../src/stores/redis/wire.ts'

test('a command is written with the number of its words and the bytes of each', () => {
  expect(wireText('evalsha', ['', 'ab'])).toBe('*3\r\n$7\r\nevalsha\r\n$0\r\n\r\n$2\r\nab\r\n')
})

test('bytes are counted, not letters', () => {
  expect(wireText('get', ['鍵', 'a'])).toBe('*3\r\n$3\r\nget\r\n$3\r\n鍵\r\n$1\r\na\r\n')
  expect(wireText('get', ['🔑é'])).toBe('*2\r\n$3\r\nget\r\n$6\r\n🔑é\r\n')
})

test('a long word has its length, too', () => {
  const word = 'x'.repeat(70_000)
  expect(wireText('set', [word])).toBe(`*2\r\n$3\r\nset\r\n$70000\r\n${word}\r\n`)
})
