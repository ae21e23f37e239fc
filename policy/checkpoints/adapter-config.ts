/**
 * `adapter_config.json`: the shape of an adapter as PEFT and servers read it.
 *
 * Invariants
 * - [PEFT-1] The same shape gives the same text; what PEFT offers beyond plain LoRA is switched off by name.
 * - The base is not named: which one it is, the manifest says, by its hash.
 */
import { z } from 'zod'
import { adapterTargets } from '../../learning/loss/adapter-targets.ts'
import { CheckpointFault } from '../files/checkpoint-fault.ts'
import type { AdapterShape } from '../transformer/adapter.ts'

const configSchema = z.looseObject({
  peft_type: z.literal('LORA'),
  r: z.int().min(1),
  lora_alpha: z.number().positive(),
  target_modules: z.array(z.enum(adapterTargets)).min(1),
})

export function renderAdapterConfig({ rank, alpha, targets }: AdapterShape): string {
  const config = {
    peft_type: 'LORA',
    task_type: 'CAUSAL_LM',
    base_model_name_or_path: null,
    r: rank,
    lora_alpha: alpha,
    target_modules: targets,
    lora_dropout: 0,
    bias: 'none',
    fan_in_fan_out: false,
    inference_mode: true,
    modules_to_save: null,
    use_dora: false,
    use_rslora: false,
  }
  return `${JSON.stringify(config, null, 2)}\n`
}

/** @param file named in the fault @throws CheckpointFault `foreign` */
export function parseAdapterConfig(text: string, file: string): AdapterShape {
  try {
    const { r, lora_alpha, target_modules } = configSchema.parse(JSON.parse(text))
    return { rank: r, alpha: lora_alpha, targets: target_modules }
  } catch (cause) {
    throw new CheckpointFault('foreign', `${file} describes no LoRA adapter of Perdure's`, { cause })
  }
}
