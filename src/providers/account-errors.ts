import type { ErrorRow } from './error-row.ts';

/** Errors that only the owner of the account can mend. Waiting and other contents do not help. */
export const ACCOUNT_ERRORS: readonly ErrorRow[] = [
  {
    kind: 'fatal',
    words: 'the account has no credit left',
    types: [
      'insufficient_quota',
      'billing_error',
      'billing_hard_limit_reached',
      'billing_not_active',
      'credit_balance_exhausted',
      'exceeded_current_quota_error', // Moonshot
      'Arrearage', // DashScope
      '1113', // z.ai
    ],
    statuses: [402],
    decidingTexts: [/insufficient (?:account )?balance/i, /daily free allocation/i], // DeepSeek, z.ai, Cloudflare
    texts: [
      /credit balance is too low/i, // Anthropic
      /reached your specified API usage limits/i, // Anthropic
      /exceeded your current quota/i, // OpenAI
    ],
  },
  {
    kind: 'fatal',
    words: 'the account has reached its spend limit',
    types: [
      'contract_spend_limit_reached',
      'enforced_spend_limit_reached',
      'linked_organization_spend_limit_reached',
      'project_spend_limit_exceeded',
      'organization_spend_limit_exceeded',
      'organization_usage_limit_exceeded',
      'usage_limit_exceeded',
      'session_budget_exceeded',
      'budget_exceeded', // LiteLLM
    ],
    decidingTexts: [/spend(?:ing)? (?:cap|limit)/i, /budget has been exceeded/i], // Gemini, xAI, LiteLLM
  },
  {
    kind: 'fatal',
    words: 'the account is disabled',
    types: [
      'organization_on_hold',
      'organization_type_not_supported',
      'parent_organization_required',
      'linked_organization_billing_unavailable',
      'account_deactivated',
      'org_disabled',
    ],
    decidingTexts: [/organization has been disabled/i],
  },
  {
    kind: 'fatal',
    words: 'the encryption key of the account cannot be used',
    types: ['cmek_key_disabled', 'cmek_key_network_blocked'],
  },
];
