import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defaultPayloadConverter, type Payload } from '@temporalio/common'
import { describe, expect, it } from 'vitest'
import { dataConverter, keyRing, PayloadFault, payloadCodec } from './payload-encryption.ts'

const [first, second] = ['first', 'second'].map((id) => `${id}:${randomBytes(32).toString('base64')}`) as [
  string,
  string,
]

function codecWith(...entries: readonly string[]) {
  const ring = keyRing({ PERDURE_PAYLOAD_KEYS: entries.join(',') })
  if (ring === undefined) throw new Error('there are keys')
  return payloadCodec(ring)
}

const plain = defaultPayloadConverter.toPayload({ words: 'in clear', n: 3 }) as Payload

describe('encryption of payloads', () => {
  it('gives back what it was given, and shows nothing of it meanwhile', async () => {
    const codec = codecWith(first)
    const [sealed] = await codec.encode([plain])
    expect(Buffer.from(sealed?.data ?? []).includes('in clear')).toBe(false)
    expect(JSON.stringify(sealed?.metadata)).not.toContain('json/plain')
    const [opened] = await codec.decode([sealed as Payload])
    expect(defaultPayloadConverter.fromPayload(opened as Payload)).toEqual({ words: 'in clear', n: 3 })
  })

  it('encrypts equal payloads differently', async () => {
    const [one, other] = await codecWith(first).encode([plain, plain])
    expect(one?.data).not.toEqual(other?.data)
  })

  // [PAYLOADS-1]
  it('encrypts with the first key and decrypts with any, so that keys can be replaced', async () => {
    const [before] = await codecWith(first).encode([plain])
    const both = codecWith(second, first)
    const [after] = await both.encode([plain])
    expect(Buffer.from(after?.metadata?.['encryption-key-id'] ?? []).toString()).toBe('second')
    for (const payload of await both.decode([before as Payload, after as Payload]))
      expect(defaultPayloadConverter.fromPayload(payload)).toEqual({ words: 'in clear', n: 3 })
    await expect(codecWith(second).decode([before as Payload])).rejects.toMatchObject({ kind: 'unknown_key' })
  })

  // [PAYLOADS-2]
  it('reads what was written in clear text as it is', async () => {
    expect(await codecWith(first).decode([plain])).toEqual([plain])
  })

  // [PAYLOADS-3]
  it('refuses a changed byte and a swapped key id', async () => {
    const codec = codecWith(first, second)
    const [sealed] = (await codec.encode([plain])) as [Payload]
    const changed = Uint8Array.from(sealed.data ?? [])
    changed[20] = (changed[20] ?? 0) ^ 1
    await expect(codec.decode([{ ...sealed, data: changed }])).rejects.toMatchObject({
      kind: 'not_authentic',
    })
    const metadata = { ...sealed.metadata, 'encryption-key-id': Buffer.from('second') }
    await expect(codec.decode([{ ...sealed, metadata }])).rejects.toMatchObject({ kind: 'not_authentic' })
    await expect(codec.decode([{ ...sealed, data: changed.slice(0, 5) }])).rejects.toBeInstanceOf(
      PayloadFault,
    )
  })
})

describe('the keys', () => {
  it('come from a variable or a file, and from neither there is no converter', () => {
    const folder = mkdtempSync(join(tmpdir(), 'perdure-keys-'))
    const file = join(folder, 'keys')
    writeFileSync(file, `${first}\n${second}\n`)
    expect([...(keyRing({ PERDURE_PAYLOAD_KEYS_FILE: file })?.keys() ?? [])]).toEqual(['first', 'second'])
    rmSync(folder, { recursive: true })
    expect(dataConverter(keyRing({}))).toBeUndefined()
  })

  it.each(['short:AAAA', 'noid', `${first},${first}`, `a b:${first.slice(6)}`])(
    'that cannot be used are refused without being repeated: %s',
    (entries) => {
      expect(() => keyRing({ PERDURE_PAYLOAD_KEYS: entries })).toThrow(PayloadFault)
      expect(() => keyRing({ PERDURE_PAYLOAD_KEYS: entries })).not.toThrow(first.slice(6))
      expect(() => keyRing({ PERDURE_PAYLOAD_KEYS: entries })).toThrow('openssl rand -base64 32')
    },
  )

  it('are asked for in one way', () => {
    const both = { PERDURE_PAYLOAD_KEYS: first, PERDURE_PAYLOAD_KEYS_FILE: '/x' }
    expect(() => keyRing(both)).toThrow('not both')
    expect(() => keyRing({ PERDURE_PAYLOAD_KEYS_FILE: '/not/there' })).toThrow('cannot be read')
  })
})
