const SLOTS = 16_384;
/** Polynomial of CRC-16/XMODEM, with which Redis Cluster maps keys to hash slots. */
const POLYNOMIAL = 0x1021;

/**
 * Returns the Cluster slot of an ASCII key. The text in the first braces decides, or the whole key if it has no braces.
 */
export function keySlot(key: string): number {
  const [, hashed = key] = /^[^{]*\{([^}]+)\}/.exec(key) ?? [];
  return crc16(Buffer.from(hashed, 'latin1')) % SLOTS;
}

function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc << 1) ^ (crc & 0x8000 ? POLYNOMIAL : 0)) & 0xffff;
  }
  return crc;
}
