/** One update: its figures, and the episodes that it learnt from. */
import type { FunctionComponent } from 'preact'
import { count, plain } from '../../../../learning/statistics/figures.ts'
import { percent } from '../../../../learning/statistics/percent.ts'
import { addressOf } from '../../../contract/addresses.ts'
import type { FigureName, RunCurves } from '../../../contract/curves.ts'
import { Facts } from '../../parts/facts.tsx'
import { Section } from '../../parts/section.tsx'
import { When } from '../../parts/when.tsx'

const shown: readonly (readonly [FigureName, string, (value: number) => string])[] = [
  ['groups', 'Groups', count],
  ['groups_with_preference', 'Groups learnt from', count],
  ['episodes', 'Episodes', count],
  ['action_tokens', 'Sampled tokens', count],
  ['kl', 'KL', plain],
  ['entropy', 'Entropy', plain],
  ['clip_fraction', 'Clipped', (value) => percent(value)],
  ['grad_norm', 'Gradient norm', plain],
  ['staleness_mean', 'Staleness', plain],
]

export const UpdateSection: FunctionComponent<{ curves: RunCurves; step: number }> = ({ curves, step }) => {
  const at = curves.step.indexOf(step)
  const { run, time, version, figures, tasks } = curves
  const [made, published] = [time[at], version[at]]
  if (made === undefined || published === undefined)
    return <p class="notice section">Update {step} is not among those that are shown.</p>
  return (
    <Section
      id="update"
      title={
        <>
          Update {step} → v{published}
        </>
      }
      note={<When at={made} />}
      beside={
        <>
          <a href={addressOf({ view: 'episodes', filter: `run:${run} update:${step}` })}>Its episodes</a>
          <a href={addressOf({ view: 'run', run })}>Close</a>
        </>
      }
      class="sheet section"
    >
      <Facts
        facts={[
          ...Object.entries(tasks).map(([task, { success }]) => ({
            name: `Success, ${task}`,
            value: percent(success[at] ?? Number.NaN),
          })),
          ...shown.map(([figure, name, write]) => {
            const value = figures[figure][at]
            return { name, value: value === null || value === undefined ? undefined : write(value) }
          }),
        ]}
      />
    </Section>
  )
}
