const CHUNK = 32_768;

/** Reads files as parts of a message. */
export async function readFileParts(files: Iterable<Blob & { readonly name?: string }>) {
  return await Promise.all(
    [...files].map(async (file) => {
      const bytes = new Uint8Array(await file.arrayBuffer());
      const mediaType = file.type === '' ? 'application/octet-stream' : file.type;
      const url = `data:${mediaType};base64,${writeBase64(bytes)}`;
      return { type: 'file', mediaType, ...(file.name !== undefined && { filename: file.name }), url };
    }),
  );
}

/** A call with all bytes of a large file as arguments would overflow the stack. */
function writeBase64(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += CHUNK) text += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  return btoa(text);
}
