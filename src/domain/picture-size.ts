interface PictureSize {
  readonly width: number;
  readonly height: number;
}

/** Maximum characters that are read. A JPEG file may have a preview of some kilobytes before its size. */
const READ_CHARACTERS = 131_072;

const READERS: Readonly<Record<string, (file: Buffer) => PictureSize | undefined>> = {
  'image/png': readPng,
  'image/jpeg': readJpeg,
  'image/gif': readGif,
  'image/webp': readWebp,
};

export const PICTURE_TYPES: ReadonlySet<string> = new Set(Object.keys(READERS));

/** Reads only the start of the file. Undefined for other files than PNG, JPEG, GIF and WebP. */
export function readPictureSize(base64: string): PictureSize | undefined {
  return readPicture(Buffer.from(base64.slice(0, READ_CHARACTERS), 'base64'));
}

export function readPicture(file: Buffer): (PictureSize & { readonly mediaType: string }) | undefined {
  for (const [mediaType, read] of Object.entries(READERS)) {
    const size = read(file);
    if (size !== undefined) return size.width > 0 && size.height > 0 ? { mediaType, ...size } : undefined;
  }
  return undefined;
}

const PNG_START = '\x89PNG\r\n\x1a\n';

function readPng(file: Buffer): PictureSize | undefined {
  if (file.length < 24 || file.toString('latin1', 0, 8) !== PNG_START) return undefined;
  return { width: file.readUInt32BE(16), height: file.readUInt32BE(20) };
}

function readGif(file: Buffer): PictureSize | undefined {
  if (file.length < 10 || file.toString('latin1', 0, 4) !== 'GIF8') return undefined;
  return { width: file.readUInt16LE(6), height: file.readUInt16LE(8) };
}

function readWebp(file: Buffer): PictureSize | undefined {
  if (file.length < 30 || file.toString('latin1', 0, 4) !== 'RIFF' || file.toString('latin1', 8, 12) !== 'WEBP') {
    return undefined;
  }
  switch (file.toString('latin1', 12, 16)) {
    case 'VP8X':
      return { width: file.readUIntLE(24, 3) + 1, height: file.readUIntLE(27, 3) + 1 };
    case 'VP8L': {
      const bits = file.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    default:
      return { width: file.readUInt16LE(26) & 0x3fff, height: file.readUInt16LE(28) & 0x3fff };
  }
}

/** Markers of a JPEG frame, which holds the size. The other markers in this range hold tables. */
const FRAME_MARKERS: ReadonlySet<number> = new Set([
  0xc0, 0xc1, 0xc2, 0xc3, 0xc5, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcd, 0xce, 0xcf,
]);

function readJpeg(file: Buffer): PictureSize | undefined {
  if (file.length < 4 || file.readUInt16BE(0) !== 0xffd8) return undefined;
  for (let at = 2; at + 9 <= file.length; ) {
    if (file[at] !== 0xff) return undefined;
    const marker = file[at + 1] ?? 0;
    if (marker === 0xff) {
      at += 1; // a fill byte before the marker
      continue;
    }
    if (FRAME_MARKERS.has(marker)) return { width: file.readUInt16BE(at + 7), height: file.readUInt16BE(at + 5) };
    at += 2 + file.readUInt16BE(at + 2);
  }
  return undefined;
}
