import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { AssistantMessage } from '../../messages/message.ts'
import { databaseServerMissing, startDatabaseServer } from '../../test/host/database-server.ts'
import { sharedData } from '../../test/support/shared-data.ts'
import type { Environment, Task } from '../contract/environment.ts'
import { db } from './definition.ts'

const dir = sharedData('db')
const server =
  existsSync(dir) && databaseServerMissing() === undefined ? await startDatabaseServer() : undefined
const url = server?.url
afterAll(() => server?.close())
/** All are played here, and every fifth at a server. */
const backends = [
  { name: 'embedded', settings: {}, here: true, every: 1 },
  { name: 'server', settings: { url: url ?? '' }, here: url !== undefined, every: 5 },
]

const entry = z.object({ type: z.array(z.string()), label: z.array(z.string()) })

interface Gold {
  readonly id: string
  readonly changes: boolean
  readonly label: readonly string[]
}

function goldsOf(stem: string): Gold[] {
  const lines = readFileSync(path.join(dir, `${stem}.jsonl`), 'utf8')
    .trim()
    .split('\n')
  return lines.map((line, at) => {
    const { type, label } = entry.parse(JSON.parse(line))
    return { id: `${stem}/${at}`, changes: ['INSERT', 'UPDATE', 'DELETE'].includes(type[0] ?? ''), label }
  })
}

function called(name: string, args: object): AssistantMessage {
  return { role: 'assistant', content: '', tool_calls: [{ name, arguments: args as never }] }
}

async function played(
  environment: Environment,
  id: string,
  sql: readonly string[],
  answers: readonly string[],
) {
  await environment.reset(id)
  for (const query of sql) await environment.step(called('execute_sql', { query }))
  return (await environment.step(called('commit_final_answer', { answers: [...answers] }))).reward
}

/** Plays all golds in a few sessions side by side. @returns ids for which the play gives another reward */
async function others(
  task: Task,
  golds: readonly Gold[],
  reward: number,
  play: (environment: Environment, gold: Gold) => Promise<number>,
): Promise<string[]> {
  const waiting = [...golds]
  const wrong: string[] = []
  async function work(): Promise<void> {
    const environment = await task.create()
    for (let gold = waiting.pop(); gold !== undefined; gold = waiting.pop())
      if ((await play(environment, gold)) !== reward) wrong.push(gold.id)
    await environment.close()
  }
  await Promise.all(Array.from({ length: 8 }, work))
  return wrong.sort()
}

// Official problems are not part of the project; where their folder is missing there is nothing to judge.
describe.skipIf(!existsSync(dir))('official problems', () => {
  for (const { name, settings, here, every } of backends)
    describe.skipIf(!here)(name, { timeout: 120_000 }, () => {
      async function withTask(run: (task: Task, golds: readonly Gold[]) => Promise<void>): Promise<void> {
        const task = await db.open({ dataDir: dir, settings })
        try {
          expect(task.warnings).toEqual([])
          const golds = [...goldsOf('dev'), ...goldsOf('standard_200')]
          expect(golds).toHaveLength(260)
          await run(
            task,
            golds.filter((_, at) => at % every === 0),
          )
        } finally {
          await task.close()
        }
      }

      test('all are right by gold', () =>
        withTask(async (task, golds) => {
          const wrong = await others(task, golds, 1, (environment, { id, changes, label }) =>
            played(environment, id, changes ? label : [], changes ? [] : label),
          )
          expect(wrong).toEqual([])
        }))

      test('all are wrong by corrupted gold', () =>
        withTask(async (task, golds) => {
          // A table of its own, so that nothing else than the corruption decides.
          const wrong = await others(task, golds, 0, async (environment, { id, changes, label }) => {
            if (!changes) return played(environment, id, [], label.with(0, `${label[0]}7x`))
            return played(environment, id, [], label)
          })
          expect(wrong).toEqual([])
        }))
    })

  test('corrupted states are wrong: a change made twice, elsewhere, or with one more', async () => {
    const task = await db.open({ dataDir: dir })
    const golds = [...goldsOf('dev'), ...goldsOf('standard_200')].filter(({ changes }) => changes)
    const corruptions: readonly ((sql: string) => readonly string[])[] = [
      (sql) => (/^\s*insert/i.test(sql) ? [sql, sql] : []),
      (sql) => [sql.replace(/'([^']+)'/, "'$1x'")],
      (sql) => [sql, `DELETE FROM ${tableOf(sql)} LIMIT 1`],
      (sql) => [`DELETE FROM ${tableOf(sql)}`, sql],
      (sql) => [sql, `DROP TABLE ${tableOf(sql)}`],
    ]
    try {
      for (const corrupt of corruptions)
        expect(
          await others(task, golds, 0, (environment, { id, label }) =>
            played(environment, id, corrupt(label[0] ?? ''), []),
          ),
        ).toEqual([])
    } finally {
      await task.close()
    }
  }, 120_000)
})

function tableOf(sql: string): string {
  return /^\s*(?:INSERT INTO|UPDATE|DELETE FROM)\s+(`[^`]+`|[^\s(]+)/i.exec(sql)?.[1] ?? ''
}
