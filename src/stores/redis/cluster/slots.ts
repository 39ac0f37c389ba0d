export const SLOTS = 16_384
const POLYNOMIAL = 0x1021
/** CRC16 (XMODEM) of every byte, which Redis Cluster counts its slots with. */
const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit++) crc = (crc << 1) ^ (crc & 0x8000 ? POLYNOMIAL : 0)
  return crc
})

/** The slot of a name in Redis: that of its hash tag if it has one. */
export function slotOf(name: string): number {
  const open = name.indexOf('{')
  const close = open < 0 ? -1 : name.indexOf('}', open + 1)
  const from = close > open + 1 ? open + 1 : 0
  const to = close > open + 1 ? close : name.length
  let crc = 0
  for (let index = from; index < to; index++) {
    const unit = name.charCodeAt(index)
    if (unit > 127) return slotOfBytes(Buffer.from(name.slice(from, to)))
    crc = next(crc, unit)
  }
  return crc % SLOTS
}

function slotOfBytes(bytes: Uint8Array): number {
  let crc = 0
  for (const byte of bytes) crc = next(crc, byte)
  return crc % SLOTS
}

function next(crc: number, byte: number): number {
  return ((crc << 8) & 0xffff) ^ (TABLE[(crc >> 8) ^ byte] as number)
}
