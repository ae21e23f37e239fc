/** A frame as the engine sends it: eight bytes of header with the stream's number, then what was said. */
export function frame(stream: number, text: string): Buffer {
  const header = Buffer.alloc(8)
  header[0] = stream
  header.writeUInt32BE(Buffer.byteLength(text), 4)
  return Buffer.concat([header, Buffer.from(text)])
}
