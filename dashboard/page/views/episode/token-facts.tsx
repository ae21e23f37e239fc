/** All that is known of one token: what it is, who sampled it, and the update that learnt it. */
import type { FunctionComponent } from 'preact'
import { versionAt } from '../../../../learning/run/version-spans.ts'
import { count, plain } from '../../../../learning/statistics/figures.ts'
import { percent } from '../../../../learning/statistics/percent.ts'
import { addressOf } from '../../../contract/addresses.ts'
import { advantageAt, type TrajectoryAnswer } from '../../../contract/trajectory.ts'
import { choose } from '../../navigation.ts'
import { Signed } from '../../parts/badge.tsx'
import { batchPlaceOf, foundOf, type PlacedToken } from './placed-tokens.ts'
import { tokenText } from './tokens.tsx'

interface FactsProps {
  readonly token: PlacedToken
  readonly trajectory: TrajectoryAnswer
}

export const TokenFacts: FunctionComponent<FactsProps> = ({ token, trajectory }) => {
  const { position, turn, index, isSampled, id, text, logprob, action } = token
  const place = isSampled ? `${index} of turn ${turn}` : `${index} of those read before turn ${turn}`
  return (
    <section class="sheet token-facts" aria-labelledby="token">
      <div class="section-head">
        <h2 id="token">
          Token <code class="shown">{trajectory.hasTexts ? tokenText(text) : `#${id}`}</code>
        </h2>
        <button type="button" class="button" onClick={() => choose({ token: '' })}>
          Close
        </button>
      </div>
      <dl class="fact-list">
        <Fact name="Id" value={count(id)} />
        <Fact name="Position" value={`${count(position)} of the episode, ${place}`} />
        {isSampled ? (
          <>
            <Fact name="Log-probability" value={`${plain(logprob)} nats (${percent(Math.exp(logprob))})`} />
            <Fact
              name="Sampled by"
              value={`v${versionAt(action, index)}${action.stale === true ? ', from the pool of older versions' : ''}`}
            />
            <Learnt trajectory={trajectory} token={token} />
          </>
        ) : (
          <>
            <Fact
              name="Read"
              value="by the policy, not sampled: it has no log-probability, and counts in no loss"
            />
            <BatchPlace trajectory={trajectory} token={token} />
          </>
        )}
      </dl>
    </section>
  )
}

const Learnt: FunctionComponent<FactsProps> = ({ trajectory, token }) => {
  const { learnt, row } = trajectory
  if (learnt === undefined) return <Fact name="Learnt by" value={withoutLesson(trajectory)} />
  const { update, version, weight } = learnt
  const { ratio, entropy } = foundOf(learnt, token)
  return (
    <>
      <Fact name="Advantage" value={<Signed value={advantageAt(learnt, token.turn, token.index)} />} />
      {weight === undefined ? null : <Fact name="Counts in the loss" value={`${plain(weight)} times`} />}
      {Number.isFinite(ratio) ? (
        <Fact
          name="Ratio"
          value={`${plain(ratio)} times as likely when the update read it as when it was sampled`}
        />
      ) : null}
      {Number.isFinite(entropy) ? (
        <Fact name="Entropy" value={`${plain(entropy)} nats, when the update read it`} />
      ) : null}
      <Fact
        name="Learnt by"
        value={
          <>
            <a href={addressOf({ view: 'run', run: row.run, update })}>update {update}</a>, which made v
            {version}
          </>
        }
      />
      <BatchPlace trajectory={trajectory} token={token} />
    </>
  )
}

/** Where the update read the token. */
const BatchPlace: FunctionComponent<FactsProps> = ({ trajectory: { learnt }, token }) => {
  const at = learnt === undefined ? undefined : batchPlaceOf(learnt, token)
  return learnt === undefined || at === undefined ? null : (
    <Fact
      name="Batch"
      value={
        <>
          token {count(at)} of <code>{learnt.batch.file}</code>
        </>
      }
    />
  )
}

const Fact: FunctionComponent<{ name: string; value: preact.ComponentChildren }> = ({ name, value }) => (
  <div>
    <dt>{name}</dt>
    <dd>{value}</dd>
  </div>
)

/** Why an episode has no advantage to show, in a sentence. */
export function withoutLesson({ notKept }: Pick<TrajectoryAnswer, 'notKept'>): string {
  return notKept === undefined
    ? 'No update has learnt from this episode.'
    : `Not kept: update ${notKept} left no record of what it learnt.`
}
