import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { sharedData } from '../../test/support/shared-data.ts'
import { openDataset } from './dataset.ts'

let dir = ''
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'perdure-os-test-'))
})
afterEach(() => rm(dir, { recursive: true, force: true }))

async function put(name: string, content: unknown): Promise<void> {
  const file = path.join(dir, name)
  await mkdir(path.dirname(file), { recursive: true })
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content))
}

const question = { description: 'Why?', evaluation: { match: 'because' } }

test('an id is the path of the file and the position in it, and files are in splits', async () => {
  await put('data/dev.json', [question, question])
  await put('data/7/some.jsonl', `${JSON.stringify(question)}\n\n${JSON.stringify(question)}\n`)
  await put('train_0317/training.json', [question])
  await put('scripts/5/new.json', [question])
  const dataset = await openDataset(dir)
  expect(dataset.splits).toEqual([
    { name: 'train', size: 1 },
    { name: 'dev', size: 2 },
    { name: 'std', size: 2 },
  ])
  expect(dataset.instanceAt('dev', 3)).toBe('data/dev.json#1')
  expect(dataset.instanceAt('std', 0)).toBe('data/7/some.jsonl#0')
  expect(dataset.open('dev/data/dev.json#1')).toBe(dataset.open('data/dev.json#1'))
  expect(() => dataset.open('data/dev.json#2')).toThrow(/ids look like train_0317/)
  expect(() => dataset.instanceAt('test', 0)).toThrow(/use train, dev, std/)
  expect(dataset.warnings).toEqual([])
})

test('scripts come from the group of the file, and nothing outside of scripts/ is read as one', async () => {
  const check = (file: string) => ({ description: 'Do.', evaluation: { check: { file } } })
  await put('data/3/a.json', [check('check/1.sh')])
  await put('data/dev.json', [check('check/1.sh'), check('../../secret.sh')])
  await put('scripts/3/check/1.sh', 'three')
  await put('scripts/dev/check/1.sh', 'dev')
  await put('secret.sh', 'secret')
  const dataset = await openDataset(dir)
  const codeOf = (id: string) => {
    const { evaluation } = dataset.open(id)
    return evaluation.kind === 'check' ? evaluation.chain : []
  }
  expect(codeOf('data/3/a.json#0')).toEqual([{ language: 'bash', code: 'three' }])
  expect(codeOf('data/dev.json#0')).toEqual([{ language: 'bash', code: 'dev' }])
  expect(dataset.warnings).toEqual([expect.stringMatching(/dev\.json, item 1: there is no script/)])
})

test('what an item needs is named by it, or follows from a check that calls sudo; others need nothing', async () => {
  const item = (check: string, fields: object = {}) => ({
    description: 'Do.',
    evaluation: { check },
    ...fields,
  })
  await put('data/6/new.json', [
    item('sudo whoami | if [ "$(cat -)" = "root" ]; then exit 0; else exit 1; fi'),
    item("runuser -l bob -c 'sudo true'"),
    item('test -e /file', { needs: ['setuid'] }),
    item('if ! sudo true; then exit 1; fi'),
    item('grep sudo /etc/group && cat /etc/sudoers'),
    item('test -e /file', { create: { init: 'sudo true' }, example: 'sudo touch /file' }),
    item('true', { needs: ['SYS_ADMIN'] }),
  ])
  const dataset = await openDataset(dir)
  const needs = [0, 1, 2, 3, 4, 5].map((index) => dataset.open(`data/6/new.json#${index}`).needs)
  expect(needs).toEqual([['setuid'], ['setuid'], ['setuid'], ['setuid'], undefined, undefined])
  expect(dataset.warnings).toEqual([expect.stringMatching(/item 6: .*needs/)])
})

test('an item is read as AgentBench reads it', async () => {
  await put('data/dev.json', [
    {
      description: 'All of it',
      create: { local: 'packages', init: [{ code: 'a' }, 'b'] },
      start: 'c &',
      evaluation: { check: [null, { language: 'python', code: 'd' }], example: { code: 'e' } },
    },
    { description: 'A list', create: [null], evaluation: { match: { regex: 'x', strip: false } } },
  ])
  const dataset = await openDataset(dir)
  const bash = (code: string) => ({ language: 'bash', code })
  expect(dataset.open('data/dev.json#0')).toEqual({
    id: 'data/dev.json#0',
    description: 'All of it',
    image: 'packages',
    init: [bash('a'), bash('b')],
    start: bash('c &'),
    evaluation: { kind: 'check', chain: ['example', { language: 'python', code: 'd' }] },
    example: bash('e'),
  })
  expect(dataset.open('data/dev.json#1')).toMatchObject({
    image: 'default',
    init: [],
    evaluation: { kind: 'regex', pattern: 'x', strip: false },
  })
})

test('what cannot be used is named and left out; the rest keeps its position', async () => {
  await put('data/dev.json', [
    { description: 3 },
    question,
    { description: '', evaluation: {} },
    { description: '', evaluation: { check: [null] } },
    { description: '', evaluation: { check: { language: 'cobol', code: '' } } },
    { description: '', evaluation: { match: { regex: '(' } } },
    'text',
  ])
  await put('data/broken.json', '[{')
  const dataset = await openDataset(dir)
  expect(dataset.splits).toEqual([{ name: 'dev', size: 1 }])
  expect(dataset.instanceAt('dev', 0)).toBe('data/dev.json#1')
  expect(dataset.warnings).toHaveLength(7)
  expect(dataset.warnings.join('\n')).toMatch(/broken\.json/)
})

test('a folder without items is refused, and so is none', async () => {
  await expect(openDataset(dir)).rejects.toMatchObject({ kind: 'bad_data' })
  await expect(openDataset(path.join(dir, 'nowhere'))).rejects.toMatchObject({ kind: 'bad_data' })
})

// [CORRECTED-1]
test.skipIf(!existsSync(sharedData('os')))(
  'no check of the 1,026 official items makes code of what it reads, once two are corrected',
  async () => {
    const dataset = await openDataset(sharedData('os'))
    expect(dataset.warnings).toEqual([])
    const ids = dataset.splits.flatMap(({ name, size }) =>
      Array.from({ length: size }, (_, index) => dataset.instanceAt(name, index)),
    )
    expect(ids).toHaveLength(1_026)
    const corrected = ids.filter((id) => {
      const { evaluation } = dataset.open(id)
      return evaluation.kind === 'check' && evaluation.chain.length === 3
    })
    expect(corrected).toEqual(['data/dev.json#3', 'data/dev.json#5'])
  },
)

test('a check that makes code of what it reads is a warning, and the item is offered', async () => {
  await put('data/dev.json', [{ description: 'Do.', evaluation: { check: '[ $(calc 1) = 2 ]' } }])
  const dataset = await openDataset(dir)
  expect(dataset.warnings).toEqual([
    expect.stringMatching(/dev\.json, item 0: its check puts what it reads into a condition, unquoted/),
  ])
  expect(dataset.splits).toEqual([{ name: 'dev', size: 1 }])
})
