/**
 * The protocol of a trainer in another process: JSON Lines on its standard input and output.
 *
 *   {"id": 0, "method": "hello",  "params": {"threads": 2}} → {"id": 0, "result": {"methods": ["update", …], "losses": ["clipped", …]}}
 *   {"id": 1, "method": "update", "params": UpdateRequest}  → {"id": 1, "progress": {"done": 3, "total": 8}} …
 *                                                           → {"id": 1, "result": UpdateStatistics}
 *                                                             or {"id": 1, "error": {"kind", "message"}}
 *
 * One request at a time. trainers/contract.md is the whole contract, that of the files included.
 *
 * Invariants
 * - Whatever the process writes is checked against these schemas before it is used.
 */
import { z } from 'zod'
import { TrainerFault } from '../trainer.ts'
import { statisticsSchema, warmStartStatisticsSchema } from './stored-statistics.ts'

/** Kinds of faults that a process may report; the others are found out by the one that asks it. */
const reportedKinds = ['bad_batch', 'bad_checkpoint', 'not_finite', 'exploded', 'storage', 'backend'] as const

const lineSchema = z.union([
  z.strictObject({
    id: z.int(),
    progress: z.strictObject({ done: z.int().min(0), total: z.int().min(1) }),
  }),
  z.strictObject({ id: z.int(), result: z.looseObject({}) }),
  z.strictObject({
    id: z.int(),
    error: z.looseObject({ kind: z.enum(reportedKinds).catch('backend'), message: z.string() }),
  }),
])
type TrainerLine = z.output<typeof lineSchema>

/** The capabilities of a trainer. */
export const helloSchema = z.looseObject({
  methods: z.array(z.string()),
  losses: z.array(z.string()).default([]),
})

export const updateResultSchema = statisticsSchema.extend({ seconds: z.number().min(0) })

export const warmStartResultSchema = warmStartStatisticsSchema.extend({ seconds: z.number().min(0) })

export const valuesResultSchema = z.looseObject({ values: z.array(z.number()) })

/** A line that the process wrote; undefined for what is none of the protocol. */
export function readLine(text: string): TrainerLine | undefined {
  try {
    return lineSchema.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}

/** The fault that a process reports. */
export function reportedFault({
  kind,
  message,
}: Extract<TrainerLine, { error: object }>['error']): TrainerFault {
  return new TrainerFault(kind, message)
}
