/** A PNG file of this size without its picture data, as base64. */
export function png(width: number, height: number): string {
  const file = Buffer.alloc(32);
  file.write('\u0089PNG\r\n\u001a\n', 'latin1');
  file.writeUInt32BE(width, 16);
  file.writeUInt32BE(height, 20);
  return file.toString('base64');
}

export function gif(width: number, height: number): string {
  const file = Buffer.alloc(16);
  file.write('GIF89a', 'latin1');
  file.writeUInt16LE(width, 6);
  file.writeUInt16LE(height, 8);
  return file.toString('base64');
}

/** A JPEG file with a preview of 10,000 bytes before its frame. */
export function jpeg(width: number, height: number, fillBytes = 0): string {
  const preview = Buffer.alloc(10_002);
  preview.writeUInt16BE(0xffe1, 0);
  preview.writeUInt16BE(10_000, 2);
  const frame = Buffer.from([0xff, 0xc2, 0, 17, 8, 0, 0, 0, 0, 3]);
  frame.writeUInt16BE(height, 5);
  frame.writeUInt16BE(width, 7);
  return Buffer.concat([Buffer.from([0xff, 0xd8]), preview, Buffer.alloc(fillBytes, 0xff), frame]).toString('base64');
}

export function webp(kind: 'VP8X' | 'VP8L' | 'VP8 ', width: number, height: number): string {
  const file = Buffer.alloc(40);
  file.write('RIFF', 0, 'latin1');
  file.write(`WEBP${kind}`, 8, 'latin1');
  if (kind === 'VP8X') {
    file.writeUIntLE(width - 1, 24, 3);
    file.writeUIntLE(height - 1, 27, 3);
  } else if (kind === 'VP8L') file.writeUInt32LE((width - 1) | ((height - 1) << 14), 21);
  else {
    file.writeUInt16LE(width, 26);
    file.writeUInt16LE(height, 28);
  }
  return file.toString('base64');
}
