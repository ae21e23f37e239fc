/** Data folders of all tasks, read by the same rules of text. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openDataset as openAlfworld } from './alfworld/dataset.ts'
import { openDataset as openBfcl } from './bfcl/dataset.ts'
import { openDataset as openDb } from './db/dataset.ts'
import { readQuestions, readTriples } from './kg/dataset.ts'
import { openDataset as openOs } from './os/dataset.ts'

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'perdure-data-files-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const put = (name: string, content: string | Uint8Array) => writeFileSync(join(dir, name), content)

const text = 'Who\u2028 is it?'
const table = { table_name: 't', table_info: { columns: [{ name: 'a' }], rows: [['1']] } }
const problem = JSON.stringify({ description: text, type: ['select'], label: ['1'], table })
const question = JSON.stringify({ id: 'q1', question: text, entities: ['e'], answers: ['a'] })
const item = JSON.stringify({ description: text, evaluation: { match: 'x' } })

const encodings: readonly (readonly [string, (content: string) => Uint8Array])[] = [
  ['CRLF', (content) => Buffer.from(content.replaceAll('\n', '\r\n'))],
  ['a lone CR', (content) => Buffer.from(content.replaceAll('\n', '\r'))],
  ['a byte order mark', (content) => Buffer.from(`\ufeff${content}`)],
  ['UTF-16', (content) => Buffer.from(`\ufeff${content}`, 'utf16le')],
]

describe.each(encodings)('a file with %s, and U+2028 within a text', (_, encoded) => {
  it('gives problems of db', async () => {
    put('dev.jsonl', encoded(`${problem}\n${problem}\n`))
    const { splits, warnings, open } = await openDb(dir)
    expect({ splits, warnings }).toEqual({ splits: [{ name: 'dev', size: 2 }], warnings: [] })
    expect(open('dev/0').question).toContain(text)
  })

  it('gives questions and triples of kg', async () => {
    put('questions.jsonl', encoded(`${question}\n`))
    put('triples.tsv', encoded(`s\tr\tone\u2028two\ns\tr\tthree\n`))
    const { splits, warnings } = await readQuestions(dir)
    expect(splits.get('questions')).toMatchObject([{ id: 'q1', text }])
    expect(warnings).toEqual([])
    expect((await readTriples(dir)).triples).toEqual([
      ['s', 'r', 'one\u2028two'],
      ['s', 'r', 'three'],
    ])
  })

  it('gives games of alfworld', async () => {
    const folder = join(dir, 'train', 'pick', 'trial')
    mkdirSync(folder, { recursive: true })
    const game = { solvable: true, pddl_domain: 'd', grammar: '{}', pddl_problem: text }
    writeFileSync(join(folder, 'game.tw-pddl'), encoded(JSON.stringify(game, null, 1)))
    const { warnings, open, instanceAt } = await openAlfworld(dir)
    expect(warnings).toEqual([])
    expect(open(instanceAt('train', 0))).toMatchObject({ problem: text })
  })

  it('gives items of os', async () => {
    put('dev.jsonl', encoded(`${item}\n${item}\n`))
    const { splits, warnings } = await openOs(dir)
    expect({ splits, warnings }).toEqual({ splits: [{ name: 'dev', size: 2 }], warnings: [] })
  })
})

describe('a file that is not read to its end is named, and so is the line', () => {
  const broken = (content: string) =>
    Buffer.concat([Buffer.from(`${content}\n`), Buffer.from([0xff]), Buffer.from(`${content}\n`)])

  it('in db, which offers the other files', async () => {
    put('dev.jsonl', broken(problem))
    put('test.jsonl', problem)
    const { splits, warnings } = await openDb(dir)
    expect(splits).toEqual([{ name: 'test', size: 1 }])
    expect(warnings).toEqual([expect.stringContaining('dev.jsonl, line 2: bytes that are no UTF-8')])
  })

  it('in kg', async () => {
    put('questions.jsonl', broken(question))
    await expect(readQuestions(dir)).rejects.toMatchObject({
      kind: 'bad_data',
      message: expect.stringContaining('questions.jsonl, line 2: bytes that are no UTF-8'),
    })
  })

  it('in bfcl', async () => {
    put('BFCL_v3_multi_turn_base.json', broken('{}'))
    await expect(openBfcl(dir)).rejects.toThrow(
      'BFCL_v3_multi_turn_base.json, line 2: bytes that are no UTF-8',
    )
  })
})

describe('a file of another kind beside the data gives one warning', () => {
  const foreign = JSON.stringify(Array.from({ length: 127 }, (_, at) => `text ${at}`))

  it('in db', async () => {
    put('dev.jsonl', problem)
    put('q.json', foreign)
    expect((await openDb(dir)).warnings).toEqual([expect.stringContaining('none of its 127 entries')])
  })

  it('in os', async () => {
    put('dev.json', `[${item}]`)
    put('q.json', foreign)
    expect((await openOs(dir)).warnings).toEqual([expect.stringContaining('none of its 127 entries')])
  })

  it('in kg', async () => {
    put('questions.jsonl', question)
    put('q.json', foreign)
    expect((await readQuestions(dir)).warnings).toEqual([expect.stringContaining('none of its 127 entries')])
  })
})

it('a folder without a question gives the reason', async () => {
  put('questions.jsonl', `${question.slice(0, -3)}\n`)
  await expect(readQuestions(dir)).rejects.toThrow(/holds no questions.*line 1: is no JSON/)
})

it('an answer with more digits than a number holds is refused, not rounded', async () => {
  put(
    'questions.jsonl',
    `${question}\n${question.replace('"a"', '12345678901234567890').replace('q1', 'q2')}\n`,
  )
  const { splits, warnings } = await readQuestions(dir)
  expect(splits.get('questions')).toHaveLength(1)
  expect(warnings).toEqual([expect.stringContaining('has too many digits')])
})
