import type { Sliced } from '../../domain/sliced.ts';
import { findSaid, type Statement, sentencesOf, stemsOf } from './grounding.ts';
import type { Section, Sections } from './sections.ts';

/**
 * Claims that a person permitted something, or that no person must be asked. Tool results and the agent itself may have made
 * them up, and an agent would act on them.
 */
const CLAIMS = [
  /\b(?:users?|customers?|clients?|admin\w*|owners?|operators?|managers?|boss|they|he|she|security|team)\b(?: \w+){0,3} (?:approved|authori[sz]ed|allowed|permitted|granted|consented|agreed|signed off|gave (?:\w+ ){0,2}(?:permission|consent|approval|leave))\b/i,
  /\b(?:agent|assistant|you|we|i)\b(?: (?:is|are|am|was|were|now|already|also|fully)){1,3} (?:allowed|permitted|authori[sz]ed|cleared|entitled|free) to\b/i,
  /\b(?:permission|approval|authori[sz]ation|consent|clearance)s? (?:(?:is|was|were|has|have|had|been|already|now|fully) ){0,3}(?:granted|given|obtained|received|confirmed)\b|\b(?:pre-?approved|approved by|authori[sz]ed by)\b/i,
  /\b(?:genehmig\w*|erlaub\w*|freigegeben|freigabe|gestattet|autorisier\w*|bewilligt|zugestimmt|zustimmung|einwilligung)\b/i,
  /\b(?:agent|assistent\w*|du|ich|wir)\b (?:darf|darfst|dürfen)\b/i,
  /\b(?:a|ont|avait|est|été) (?:\p{L}+ ){0,2}(?:autoris|approuv|permis|consenti|validé|donné (?:son|leur) (?:accord|autorisation|feu vert))/iu,
  /\b(?:autorisation|permission|accord|consentement) (?:\p{L}+ ){0,2}(?:accordé|donné|obtenu|reçu)/iu,
  /\b(?:ha|han|está|queda|fue|tem|foi|ha già) (?:\p{L}+ ){0,2}(?:autoriz|aprob|aprov|permiti|permesso|concesso|concedid|dado permiso|consentid)/iu,
  /\b(?:autorizó|aprobó|permitió|consintió|autorizou|aprovou|permitiu)/iu,
  /\b(?:permiso|autorización|permissão|autorização|permesso|autorizzazione) (?:\p{L}+ ){0,2}(?:concedid|otorgad|dad[oa]|obtenid|obtid|concess)/iu,
  /(?:用户|用戶|客户|管理员|老板|他|她)(?:已|已经|也|明确|都|刚){0,3}(?:批准|授权|授權|同意|允许|允許|许可)|(?:已|获得|得到|經|经)(?:批准|授权|授權|许可|同意)|被允许/u,
  /(?:許可|承認|認可|同意)(?:済み|された|されました|されています|しました|した|を得た|を得て|があ)/u,
  /(?:승인|허가|허락|동의)(?:했|함|하였|되었|됨|받)/u,
  /(?<!\p{L})(?:разреши|одобри|позволи|согласи)\p{L}+|(?:разрешение|одобрение|согласие) (?:\p{L}+ ){0,2}(?:получен|дан|выдан)/iu,
];
/** Claims that no person must be asked. Behind a negation they are restrictions: "never delete without confirmation". */
const UNASKED =
  /\bwithout (?:\w+ ){0,2}(?:asking|approval|confirm\w*|permission|consent)|\bno (?:\w+ ){0,2}(?:approval|confirmation|permission|consent) (?:\w+ ){0,2}(?:needed|required|necessary)|\bohne (?:\p{L}+ )?(?:rück|nach)frage|\bohne (?:\p{L}+ )?bestätigung|\bsans (?:\p{L}+ )?(?:confirmation|demander|autorisation|validation)|\bsin (?:\p{L}+ )?(?:confirmación|permiso|autorización|preguntar)|\bsem (?:\p{L}+ )?(?:confirmação|permissão|perguntar)|\bsenza (?:\p{L}+ )?(?:conferma|chiedere|autorizzazione)|\bбез (?:\p{L}+ )?(?:подтверждени|разрешени|согласовани)|(?:无需|无须|不需要|不用|無需)(?:\p{L}{0,2})(?:确认|確認|批准|授权|询问)|確認(?:は)?(?:不要|なし)|확인 없이/iu;
const NEGATION = words(
  'not|never|no|nobody|cannot|\\w+n.t|nicht|nie|niemals|kein\\w*|ne|pas|jamais|nunca|jamás|não|mai|non|не|нельзя|никогда',
  '不得|不要|不能|请勿|严禁|禁止|ない|않|마세요',
);

/** Words with which people give permission. A text without them grants nothing. */
const GRANT = words(
  [
    'allow\\w*|approv\\w*|permit\\w*|permission|authori[sz]\\w*|grant\\w*|consent\\w*|agree\\w*|may|ok|okay|yes|yep|sure',
    'fine|go ahead|proceed|feel free|free to|confirm\\w*|without asking|no need|ja|gern\\w*|darf\\w*|dürf\\w*|erlaub\\w*',
    'genehm\\w*|freig\\w*|zustimm\\w*|einverstanden|gestatt\\w*|oui|accord|autoris\\p{L}*|approuv\\p{L}*|permet\\p{L}*',
    'vous pouvez|tu peux|sí|vale|autoriz\\p{L}*|aprueb\\w*|aprob\\w*|puede\\w*|sim|pode\\w*|aprov\\w*|consent\\w*',
    'разреш\\p{L}*|одобр\\p{L}*|можно|соглас\\p{L}*|да',
  ].join('|'),
  '允许|允許|批准|同意|授权|授權|许可|可以|无需|無需|不用|好的|はい|許可|承認|いい|よい|どうぞ|승인|허가|허락|동의',
);
/** Words of a claim that say who permitted, and that it was permitted. */
const CLAIM_WORDS = new RegExp(
  words(
    [
      'the|and|has|have|had|was|were|been|that|this|for|with|already|explicitly|users?|customers?|clients?|admin\\w*|agent',
      'assistant|they|you|der|die|das|den|dem|hat|haben|wurde|nutzer\\w*|benutzer\\w*|kunde\\w*|für|und|est|une|les|des',
      'ont|pour|l.utilisateur|utilisat\\w*|été|los|las|una|para|usuari\\w*|ha|han|al|del|el|la|le|il',
    ].join('|'),
    '用户|用戶|客户|管理员|已经|已|了|ユーザー|しました|された|した',
  ),
  'giu',
);

/** Matches whole words, and parts of texts in scripts without spaces between words. */
function words(spaced: string, unspaced: string): RegExp {
  return new RegExp(`(?<![\\p{L}\\p{N}])(?:${spaced})(?![\\p{L}\\p{N}])|${unspaced}`, 'iu');
}

/** Share of a claim's words that two sentences of a user must hold. */
const CLAIM_SHARE = 0.7;
const RULE_SHARE = 0.6;

export function isPermissionClaim(sentence: string): boolean {
  const unasked = UNASKED.exec(sentence);
  if (unasked !== null && !NEGATION.test(sentence.slice(0, unasked.index))) return true;
  return CLAIMS.some((pattern) => {
    const found = pattern.exec(sentence);
    if (found === null) return false;
    const around = sentence.slice(Math.max(0, found.index - 12), found.index + found[0].length + 8);
    return !NEGATION.test(around);
  });
}

/**
 * Removes claims of permission that no user text holds, in every section. The section of constraints keeps only lines
 * that a system or user text holds.
 * @param texts texts of the system and of users
 */
export function* dropUngranted(sections: Sections, texts: readonly string[]): Sliced<Sections> {
  const claims = new Map<string, Statement>();
  const rules = new Map<string, Statement>();
  for (const [section, body] of sections) {
    for (const sentence of sentencesOf(body)) {
      if (isPermissionClaim(sentence)) claims.set(sentence, readClaim(sentence));
      else if (section === 'constraints') rules.set(sentence, { stems: stemsOf(sentence), share: RULE_SHARE });
    }
  }
  const said = yield* findSaid([...claims.values(), ...rules.values()], texts);
  const isKept = (section: Section, sentence: string): boolean => {
    const statement = claims.get(sentence) ?? (section === 'constraints' ? rules.get(sentence) : undefined);
    return statement === undefined || said.has(statement);
  };
  const kept = new Map<Section, string>();
  for (const [section, body] of sections) {
    const lines = body.split('\n').flatMap((line) => keepSentences(line, (sentence) => isKept(section, sentence)));
    const text = lines.join('\n').trim();
    if (text !== '') kept.set(section, text);
  }
  return kept;
}

function readClaim(sentence: string): Statement {
  const about = CLAIMS.reduce((text, pattern) => text.replace(pattern, ' '), sentence).replace(CLAIM_WORDS, ' ');
  return { stems: stemsOf(about), share: CLAIM_SHARE, pattern: GRANT };
}

/** @returns no line if no sentence is kept */
function keepSentences(line: string, isKept: (sentence: string) => boolean): string[] {
  const sentences = sentencesOf(line);
  const kept = sentences.filter(isKept);
  if (kept.length === sentences.length) return [line];
  return kept.some((sentence) => /[\p{L}\p{N}]/u.test(sentence)) ? [kept.join(' ')] : [];
}
