import {sweep} from './sweep.mjs';sweep({alpha:1.15},{cvs:['fam'],taus:[0.4,0.6,0.8,1.1,1.5],name:'alpha 1.15'});
