import {sweep} from './sweep.mjs';import {forced} from './force.mjs';
const o=JSON.parse(process.argv[3]??'{}');
sweep({force:forced({users:o.u??0.2,tail:o.t??0.2}),...o},{cvs:o.cvs??['fam','grp'],taus:o.taus??[0.6,0.8,1.0],name:process.argv[2]});
