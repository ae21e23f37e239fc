/**
 * WorldCup2014 as the IRN paper published it, for tests and benchmarks; no command offers it.
 *
 * Invariants
 * - A question's way is `entity#relation#entity#…`; `*` joins the ways of a conjunction, `#<end>` ends one early.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'

/** A line of `questions.jsonl`. */
export interface WorldCupQuestion {
  readonly id: string
  readonly split: 'P2' | 'C'
  readonly question: string
  readonly entities: readonly string[]
  /** A path for each entity. */
  readonly relations: readonly (readonly string[])[]
  readonly answers: readonly string[]
}

/** Subject, relation, object. */
export function worldCupTriples(dir: string): (readonly [string, string, string])[] {
  return rows(dir, 'WC2014.txt').map(([subject = '', relation = '', object = '']) => [
    subject,
    relation,
    object,
  ])
}

/** 1,472 two-hop questions (P2) and 2,208 conjunctive ones (C). */
export function worldCupQuestions(dir: string): WorldCupQuestion[] {
  return (['P2', 'C'] as const).flatMap((split) =>
    rows(dir, `WC-${split}.txt`).map(([question = '', , gold = '', answers = ''], line) => {
      const ways = gold.split('*').map((way) => way.split('#<end>', 1)[0]?.split('#') ?? [])
      return {
        id: `${split}-${line}`,
        split,
        question,
        entities: ways.map(([entity = '']) => entity),
        // Every other part of a way is a relation.
        relations: ways.map((way) => way.filter((_, at) => at % 2 === 1)),
        answers: answers.split('/').filter((answer) => answer !== ''),
      }
    }),
  )
}

function rows(dir: string, file: string): string[][] {
  const lines = readFileSync(path.join(dir, file), 'utf8').trimEnd().split('\n')
  return lines.map((line) => line.split('\t'))
}
