import fs from 'node:fs';import {points,byId} from './ev.mjs';import {maker} from './ev2.mjs';
for(const b of [0.2,2000]){const m=maker('grp',{users:0.2,tail:0.3,strictness:0.85});fs.writeFileSync(`out-${b}.jsonl`,points.filter(p=>b<1||p.total>=20000).map(p=>{const budget=b<1?Math.floor(p.total*b):b;return JSON.stringify({id:p.id,t:p.t,budget,context:m({budget,point:p})});}).join('\n')+'\n');}
