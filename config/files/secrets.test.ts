import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { redact, remembered } from '../../machine/secrets/secret.ts'
import { ConfigFault } from './fault.ts'
import { loadConfig, resolveConfig } from './loader.ts'
import { plainSecrets, withSecrets } from './secrets.ts'

afterEach(() => vi.unstubAllEnvs())

const config = (settings: Record<string, string>) =>
  resolveConfig({ tasks: [{ task: 'db', settings }], evaluation: { suites: [] } })

describe('a configuration that is given with a secret in it', () => {
  it.each([
    ['url', 'mysql://root:hunter2hunter2@db:3306'],
    ['url', 'https://:hunter2hunter2@graph/sparql'],
    ['password', 'hunter2hunter2'],
    ['apiKey', 'hunter2hunter2'],
    ['db_password', 'hunter2hunter2'],
    ['authToken', 'hunter2hunter2'],
    ['anything', 'sk-hunter2hunter2'],
    ['anything', '-----BEGIN RSA PRIVATE KEY-----\nhunter2hunter2'],
  ])('is refused by its key, without its value: %s', (key, value) => {
    const refusal = catching(() => config({ [key]: value }))
    expect(refusal).toBeInstanceOf(ConfigFault)
    expect(refusal).toMatchObject({ kind: 'bad_value', key: `tasks.0.settings.${key}` })
    expect(JSON.stringify([refusal, refusal.message])).not.toContain('hunter2')
    const set = [`tasks.0.settings.${key}=${JSON.stringify(value)}`]
    const called = catching(() => loadConfig({ set }))
    expect(called).toMatchObject({ key: `tasks.0.settings.${key}` })
    expect(called.message).not.toContain('hunter2')
  })

  it.each([
    ['url', 'mysql://root@db:3306'],
    ['url', `mysql://root:\${DB_PASSWORD}@db:3306`],
    ['password', `\${DB_PASSWORD}`],
    ['token', `\${file:/run/secrets/token}`],
    ['stopTokens', '</s>'],
    ['tokenizer', 'words'],
    ['keyboard', 'qwerty'],
    ['password', ''],
  ])('is taken where there is none: %s', (key, value) => {
    expect(plainSecrets({ [key]: value })).toEqual([])
    expect(config({ [key]: value }).tasks[0]?.settings).toEqual({ [key]: value })
  })
})

describe('references', () => {
  it('are filled in from the environment and from files, wherever they stand', () => {
    vi.stubEnv('A_PASSWORD', 'correct horse')
    const folder = mkdtempSync(join(tmpdir(), 'perdure-secrets-'))
    const file = join(folder, 'key')
    writeFileSync(file, 'battery staple\n')
    const settings = { url: `mysql://u:\${A_PASSWORD}@h`, deep: [{ key: `\${file:${file}}` }], rows: 3 }
    expect(withSecrets(settings, 'tasks.0.settings')).toEqual({
      url: 'mysql://u:correct horse@h',
      deep: [{ key: 'battery staple' }],
      rows: 3,
    })
    rmSync(folder, { recursive: true })
    expect(redact('no correct horse, no "correct%20horse", no battery staple')).toBe(
      'no ***, no "***", no ***',
    )
  })

  it('that lead nowhere are named with their key', () => {
    expect(() => withSecrets({ url: `\${NOT_SET_ANYWHERE}` }, 'tasks.1.settings')).toThrow(
      '`tasks.1.settings.url` needs the environment variable NOT_SET_ANYWHERE, which is not set here',
    )
    expect(() => withSecrets([`\${file:/not/there}`], 'tasks.1.settings')).toThrow('the file /not/there')
  })
})

describe('texts that are to be kept', () => {
  it('lose keys that payloads are encrypted with, each by itself', () => {
    const key = Buffer.alloc(32, 7).toString('base64')
    expect(redact(`not ${remembered(key)}`)).toBe('not ***')
  })

  it('lose the secrets of the environment', () => {
    vi.stubEnv('TEMPORAL_API_KEY', 'temporal-key-1')
    vi.stubEnv('PERDURE_PAYLOAD_KEYS', 'k1:abcdefgh')
    vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', 'authorization=abcdef')
    expect(redact('a temporal-key-1 b k1:abcdefgh c authorization=abcdef d')).toBe('a *** b *** c *** d')
  })
})

function catching(work: () => unknown): Error {
  try {
    work()
  } catch (error) {
    return error as Error
  }
  throw new Error('nothing was thrown')
}
