/** An update in a few numbers, for tests that compare trainers without having both. */
import { readCheckpoint } from '../../policy/checkpoints/checkpoint.ts'
import type { Trainer, UpdateRequest } from '../../policy/trainer/trainer.ts'

/** Statistics, and of the first moments of each weight the norm and what a fixed direction sees of them. */
export interface UpdateFigures {
  readonly statistics: Readonly<Record<string, number>>
  readonly moments: Readonly<Record<string, { readonly norm: number; readonly projection: number }>>
}

/** Makes an update. After one step from zero moments, its first moments are the gradient times a constant. */
export async function figuresOf(trainer: Trainer, request: UpdateRequest): Promise<UpdateFigures> {
  const { seconds: _, origins: __, drift = 0, rejected = 0, ...statistics } = await trainer.update(request)
  const { optimizer } = await readCheckpoint(request.toCheckpointDir, { optimizer: true })
  const moments = [...(optimizer?.first ?? [])].map(([name, values]) => {
    const projection = values.reduce((sum, value, index) => sum + value * Math.cos(index), 0)
    return [name, { norm: Math.hypot(...values), projection }] as const
  })
  return { statistics: { ...statistics, drift, rejected }, moments: Object.fromEntries(moments) }
}
