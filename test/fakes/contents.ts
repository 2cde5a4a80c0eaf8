/** A PNG file of one pixel, as base64. */
export const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** A JPEG file of one pixel without its picture data, as base64. */
export const JPEG_PIXEL = '/9j/wAARCAABAAEDASIAAhEBAxEB';

/** The start of a PDF file, as base64. */
export const SHORT_PDF = 'JVBERi0xLjcK';
