/** A command that can be copied: named as it is typed on the machine of the server, and acting on the home that is shown. */
import type { FunctionComponent } from 'preact'
import { homeRoute } from '../../contract/routes.ts'
import { useAnswer } from '../answer.ts'

export const Command: FunctionComponent<{ words: string }> = ({ words }) => {
  const { answer } = useAnswer(homeRoute())
  const { name, homeFlag } = answer?.typed ?? { name: 'npx perdure', homeFlag: '' }
  return <code>{`${name} ${words}${homeFlag}`}</code>
}
