/**
 * The vantage: through which a campaign watches its deployment, and gives orders.
 *
 * Invariants
 * - It uses the home as any client does, and has no file of it open once it is closed.
 */
import { openSession, type TrainingSession } from '../../client/session/training-session.ts'
import { homeAt } from '../../storage/disk/home.ts'
import { Hands } from './hands.ts'
import { Histories } from './history.ts'
import { Observer } from './observer.ts'

export interface Vantage extends AsyncDisposable {
  readonly session: TrainingSession
  readonly histories: Histories
  readonly observer: Observer
  readonly hands: Hands
}

/** @param endings how often each workflow was ended by hand */
export async function openVantage(
  home: string,
  endings: Map<string, number>,
  tell: (line: string) => void,
): Promise<Vantage> {
  await using opened = new AsyncDisposableStack()
  const log = (line: string) => tell(`  ${line}`)
  // It looks after the server as any user does.
  const session = opened.adopt(await openSession({ home, roles: 'client', log }), (each) => each.close())
  const histories = opened.use(await Histories.open(home))
  const observer = opened.use(new Observer(homeAt(home).storeFile))
  const hands = new Hands(histories.client, session, endings)
  const all = opened.move()
  return {
    ...{ session, histories, observer, hands },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}
