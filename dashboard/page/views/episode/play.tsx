/** How a person plays the instance of an episode. */
import type { FunctionComponent } from 'preact'
import type { TrajectoryAnswer } from '../../../contract/trajectory.ts'
import { visible } from '../../parts/visible.ts'

export const PlayPanel: FunctionComponent<{ trajectory: TrajectoryAnswer }> = ({ trajectory }) => (
  <section class="sheet" aria-labelledby="play">
    <h2 id="play">Play it yourself</h2>
    <p class="quiet small">
      <code>{visible(trajectory.play)}</code>
    </p>
  </section>
)
