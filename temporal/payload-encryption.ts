/**
 * Encryption of payloads: what workflows, activities and clients tell each other is unreadable to the server.
 *
 * Each payload becomes one of encoding `binary/encrypted` (the name that Temporal's samples use): a nonce of 12 bytes,
 * the AES-256-GCM ciphertext of the whole payload, a tag of 16 bytes. The id of its key is in its metadata.
 *
 * Invariants
 * - One place makes the data converter, and clients, workers, replays and the codec server all take it from here.
 * - [PAYLOADS-1] The first key encrypts; all decrypt. So a key is replaced by putting a new one before it.
 * - [PAYLOADS-2] A payload that was written in clear text is read as it is, so encryption can be turned on in
 *   mid-run.
 * - [PAYLOADS-3] A changed byte, a swapped key id or a missing key is a PayloadFault, which names the id and no key.
 */
import { createCipheriv, createDecipheriv } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { DataConverter, Payload, PayloadCodec } from '@temporalio/common'
import api from '@temporalio/proto'
import { Fault } from '../faults/fault.ts'
import { remembered } from '../machine/secrets/secret.ts'
import { chance } from '../machine/services/chance.ts'

const { Payload: PayloadMessage } = api.temporal.api.common.v1

export const encryptedEncoding = 'binary/encrypted'
const cipherName = 'aes-256-gcm'
const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16

/** Keys, comma-separated, each `ID:BASE64` of 32 bytes; the first one encrypts. */
export const keysVariable = 'PERDURE_PAYLOAD_KEYS'
/** A file with them, one a line. */
export const keysFileVariable = 'PERDURE_PAYLOAD_KEYS_FILE'

/** Payloads cannot be encrypted or read by this process; another one may have the keys. */
export class PayloadFault extends Fault<'bad_keys' | 'unknown_key' | 'not_authentic'> {
  override readonly name = 'PayloadFault'
}

/** Keys by their ids; the first one encrypts. */
export type KeyRing = ReadonlyMap<string, Buffer>

const nothing: Payload = { metadata: { encoding: Buffer.from('binary/null') } }

/**
 * For clients that ask for states and lists alone: memos, which come with them, are not read, so no key is needed.
 */
export const unread: DataConverter = {
  payloadCodecs: [
    {
      encode: (payloads) => Promise.resolve(payloads),
      decode: (payloads) => Promise.resolve(payloads.map(() => nothing)),
    },
  ],
}

/**
 * The keys that the environment gives.
 * @returns undefined where payloads are not to be encrypted
 * @throws PayloadFault `bad_keys`, which repeats no key
 */
export function keyRing(environment: NodeJS.ProcessEnv = process.env): KeyRing | undefined {
  const listed = environment[keysVariable] ?? ''
  const file = environment[keysFileVariable] ?? ''
  if (listed !== '' && file !== '')
    throw new PayloadFault('bad_keys', `set ${keysVariable} or ${keysFileVariable}, not both`)
  if (listed !== '') return parseKeys(listed, keysVariable)
  return file === '' ? undefined : parseKeys(readKeys(file), `${keysFileVariable} ${file}`)
}

function readKeys(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new PayloadFault('bad_keys', `${keysFileVariable}: ${file} cannot be read`, { cause })
  }
}

function parseKeys(text: string, from: string): KeyRing {
  const ring = new Map<string, Buffer>()
  for (const [index, entry] of text
    .split(/[,\n]/)
    .map((each) => each.trim())
    .filter(Boolean)
    .entries()) {
    const [, id, key] = /^([\w.-]{1,64}):([A-Za-z0-9+/_-]+=*)$/.exec(entry) ?? []
    const bytes = Buffer.from(key ?? '', 'base64')
    if (id === undefined || bytes.length !== keyBytes || ring.has(id))
      throw new PayloadFault(
        'bad_keys',
        `${from}: entry ${index + 1} is no ID:KEY of its own, where KEY is ${keyBytes} bytes in base64; \`openssl rand -base64 ${keyBytes}\` makes one`,
      )
    remembered(key ?? '')
    ring.set(id, bytes)
  }
  if (ring.size === 0) throw new PayloadFault('bad_keys', `${from} holds no key`)
  return ring
}

/** The converter for clients, workers and replays; undefined leaves payloads as they are. */
export function dataConverter(ring: KeyRing | undefined = keyRing()): DataConverter | undefined {
  if (ring === undefined) return undefined
  return { payloadCodecs: [payloadCodec(ring)], failureConverterPath: failureConverterPath() }
}

/** Where the converter of failures lies, in the form in which this process runs. */
export function failureConverterPath(): string {
  return fileURLToPath(new URL(`../workflows/failure-converter${extname(import.meta.url)}`, import.meta.url))
}

/** Encrypts with the first key of the ring, decrypts with any. */
export function payloadCodec(ring: KeyRing): PayloadCodec {
  const [first] = ring
  if (first === undefined) throw new PayloadFault('bad_keys', 'a key ring needs a key')
  const [id, key] = first
  return {
    encode: async (payloads) => payloads.map((payload) => encrypt(payload, id, key)),
    decode: async (payloads) => payloads.map((payload) => decrypt(payload, ring)),
  }
}

function encrypt(payload: Payload, id: string, key: Buffer): Payload {
  const nonce = chance.bytes(nonceBytes)
  const cipher = createCipheriv(cipherName, key, nonce)
  cipher.setAAD(Buffer.from(id))
  const data = Buffer.concat([
    nonce,
    cipher.update(PayloadMessage.encode(payload).finish()),
    cipher.final(),
    cipher.getAuthTag(),
  ])
  return {
    metadata: { encoding: Buffer.from(encryptedEncoding), 'encryption-key-id': Buffer.from(id) },
    data,
  }
}

function decrypt(payload: Payload, ring: KeyRing): Payload {
  const { metadata, data } = payload
  if (data == null || textOf(metadata?.encoding) !== encryptedEncoding) return payload
  const id = textOf(metadata?.['encryption-key-id'])
  const key = ring.get(id)
  if (key === undefined)
    throw new PayloadFault(
      'unknown_key',
      `a payload is encrypted with the key "${id}", which ${keysVariable} does not hold (it has ${[...ring.keys()].join(', ')})`,
    )
  const bytes = Buffer.from(data)
  try {
    const decipher = createDecipheriv(cipherName, key, bytes.subarray(0, nonceBytes))
    decipher.setAAD(Buffer.from(id))
    decipher.setAuthTag(bytes.subarray(-tagBytes))
    return PayloadMessage.decode(
      Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()]),
    )
  } catch (cause) {
    throw new PayloadFault('not_authentic', `a payload is not what was encrypted with the key "${id}"`, {
      cause,
    })
  }
}

/** The id of the key that a payload needs; undefined for one in clear text. */
export function requiredKey({ metadata }: Payload): string | undefined {
  if (textOf(metadata?.encoding) !== encryptedEncoding) return undefined
  return textOf(metadata?.['encryption-key-id'])
}

function textOf(bytes: Uint8Array | null | undefined): string {
  return bytes == null ? '' : Buffer.from(bytes).toString('utf8')
}
