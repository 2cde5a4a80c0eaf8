import { isMapping } from './parse.ts';
import { type ContentPart, PDF } from './parts.ts';
import { PICTURE_TYPES, readPicture } from './picture-size.ts';

/** Longest accepted URL. Signed URLs of object stores have up to 4,000 characters. */
const MAX_URL_CHARACTERS = 8_192;
const MAX_MEDIA_TYPE = 127;
const MEDIA_TYPE = /^[\w.+-]+\/[\w.+-]+$/;
const NOT_BASE64 = /[^A-Za-z0-9+/]/;
/** Number of first bytes in which PDF readers look for the header. */
const PDF_HEADER_BYTES = 1_024;

/** Finds a flaw that would make every provider refuse the request. @returns the flaw as a sentence without contents */
export function findContentFlaw(part: ContentPart): string | undefined {
  switch (part.kind) {
    case 'text':
      return undefined;
    case 'image':
    case 'file':
      return findMediaTypeFlaw(part.mediaType) ?? findDataFlaw(part);
    case 'image_url':
      return findUrlFlaw(part.url);
    case 'file_url':
      return findMediaTypeFlaw(part.mediaType) ?? findUrlFlaw(part.url);
    case 'reference':
      return findMediaTypeFlaw(part.mediaType);
    case 'other':
      return isMapping(part.given) && typeof part.given['url'] === 'string'
        ? findUrlFlaw(part.given['url'])
        : undefined;
  }
}

export function readMediaType(base64: string): string | undefined {
  return readPicture(Buffer.from(base64, 'base64'))?.mediaType;
}

function findMediaTypeFlaw(mediaType: string): string | undefined {
  return mediaType.length <= MAX_MEDIA_TYPE && MEDIA_TYPE.test(mediaType)
    ? undefined
    : `the media type must be type/subtype with at most ${MAX_MEDIA_TYPE} characters, such as image/png`;
}

function findDataFlaw({ mediaType, base64 }: Extract<ContentPart, { kind: 'image' | 'file' }>): string | undefined {
  if (base64 === '') return 'the data is empty. Send the bytes of the content';
  const file = readBase64(base64);
  if (file === undefined) {
    return 'the data is not base64. Use the alphabet A-Z a-z 0-9 + / with padding, without line breaks';
  }
  if (PICTURE_TYPES.has(mediaType)) return findPictureFlaw(file, mediaType);
  if (mediaType === PDF && !file.toString('latin1', 0, PDF_HEADER_BYTES).includes('%PDF-')) {
    return `the bytes are no PDF file, but the media type is ${PDF}`;
  }
  return undefined;
}

function findPictureFlaw(file: Buffer, mediaType: string): string | undefined {
  const picture = readPicture(file);
  if (picture === undefined) return 'the bytes are no PNG, JPEG, GIF or WebP picture whose size can be read';
  return picture.mediaType === mediaType
    ? undefined
    : `the media type is ${mediaType}, but the bytes are a picture of type ${picture.mediaType}. Declare that type`;
}

function readBase64(base64: string): Buffer | undefined {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0;
  const isWhole = base64.length % 4 === 0;
  if (!isWhole || NOT_BASE64.test(base64.slice(0, base64.length - padding))) return undefined;
  return Buffer.from(base64, 'base64');
}

const WEB_URL = /^https?:\/\/./i;

function findUrlFlaw(url: string): string | undefined {
  if (url.length > MAX_URL_CHARACTERS) return `the URL must have at most ${MAX_URL_CHARACTERS} characters`;
  if (WEB_URL.test(url) && URL.canParse(url)) return undefined;
  return 'the URL must be an address of http or https, or a data: URL with a media type and base64 data';
}
