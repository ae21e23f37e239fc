/**
 * SHA-256 of published files, by their paths below the folder that the publisher keeps them in.
 */

/** AgentBench's `data/os_interaction/`. */
export const osChecksums: Readonly<Record<string, string>> = {
  'data/dev.json': 'c5554248e6c1cb606e27d2f81025b751a490c9a5ccd37aabf4c86879a52e9274',
  'res/dockerfiles/default': 'c50a7ca80c4602b90b0eaa48c7a962f092eae83d22f4bb0dc53fbe6792522bd6',
  'res/dockerfiles/packages': '65a5134b279ca6a42e2187441f86bd68081422704aa032edc815b21e78862b0a',
  'res/dockerfiles/ubuntu': 'ca9004d973c811a28b02b88cec221c17f604403abfc443e7be6f3b3a0b6ff6f4',
  'scripts/1/check/1.sh': '65ee4f3754ec893af569af2a8d97c232e2952cb884238b3dbf94e34e4001835c',
  'scripts/1/check/containing.py': '107c1f4a4065702276084876fca4316d3d4de14b24c3e7d89cb7e532e0794c31',
  'scripts/1/check/in.py': '35325fb698f3c8d2009c70466237f2d0a98df20bf8e19558d7677beefa8e54b8',
  'scripts/1/check/integer-match.py': '1f1fd1b34581794346c577bea54d50c87a547f483e552259cb66563c25f5fed8',
  'scripts/1/check/size-match.py': 'b0d6ed977b4802f01725edd90c96f056021a75fe09ebf890a1a3a01dfc934b29',
  'scripts/1/check/string-match.py': 'c0afd9384f5c2e492b5c158731e5fefb000692c4ba6a6be89f168aca7e89faec',
  'scripts/1/example/1.sh': '099440ccb493c66235ed6ddbfd81d83bfb56240bb1f88ebe4b775582e53dc9f3',
  'scripts/1/init/gen_words.sh': 'f56602a5d3fffebdf1237b73525db68d7ebbd333e82534e78214de2c169bbd5e',
  'scripts/1/init/install_nettools.sh': '2fc0f9703911f89499d45cf3043378584952d7a07521183237639082c5b197cf',
  'scripts/1/init/nested_folders.sh': '541a2a42507855a5b9b2f01a6ef3d17345a5d27e53233276ecb5be495d7705f2',
  'scripts/1/init/stock-log.sh': '2fc591294f8db0333a95bb382f7e83776ccc6143cca122acc201e8d4222da9fc',
  'scripts/2/check/1.sh': '65ee4f3754ec893af569af2a8d97c232e2952cb884238b3dbf94e34e4001835c',
  'scripts/2/check/containing.py': '107c1f4a4065702276084876fca4316d3d4de14b24c3e7d89cb7e532e0794c31',
  'scripts/2/check/in.py': '35325fb698f3c8d2009c70466237f2d0a98df20bf8e19558d7677beefa8e54b8',
  'scripts/2/check/integer-match.py': '9717a8a15f466f93ef02606257fe3ab3bb0c0ed1d1804783d8d393d16b6ad533',
  'scripts/2/check/size-match.py': 'b0d6ed977b4802f01725edd90c96f056021a75fe09ebf890a1a3a01dfc934b29',
  'scripts/2/check/string-match.py': 'c0afd9384f5c2e492b5c158731e5fefb000692c4ba6a6be89f168aca7e89faec',
  'scripts/2/example/1.sh': '099440ccb493c66235ed6ddbfd81d83bfb56240bb1f88ebe4b775582e53dc9f3',
  'scripts/2/init/gen_words.sh': 'f56602a5d3fffebdf1237b73525db68d7ebbd333e82534e78214de2c169bbd5e',
  'scripts/2/init/install_nettools.sh': '2fc0f9703911f89499d45cf3043378584952d7a07521183237639082c5b197cf',
  'scripts/2/init/nested_folders.sh': '541a2a42507855a5b9b2f01a6ef3d17345a5d27e53233276ecb5be495d7705f2',
  'scripts/2/init/stock-log.sh': '2fc591294f8db0333a95bb382f7e83776ccc6143cca122acc201e8d4222da9fc',
  'scripts/3/check/1.sh': '65ee4f3754ec893af569af2a8d97c232e2952cb884238b3dbf94e34e4001835c',
  'scripts/3/check/containing.py': '107c1f4a4065702276084876fca4316d3d4de14b24c3e7d89cb7e532e0794c31',
  'scripts/3/check/in.py': '35325fb698f3c8d2009c70466237f2d0a98df20bf8e19558d7677beefa8e54b8',
  'scripts/3/check/integer-match.py': '1f1fd1b34581794346c577bea54d50c87a547f483e552259cb66563c25f5fed8',
  'scripts/3/check/size-match.py': 'b0d6ed977b4802f01725edd90c96f056021a75fe09ebf890a1a3a01dfc934b29',
  'scripts/3/check/string-match.py': 'c0afd9384f5c2e492b5c158731e5fefb000692c4ba6a6be89f168aca7e89faec',
  'scripts/3/example/1.sh': '099440ccb493c66235ed6ddbfd81d83bfb56240bb1f88ebe4b775582e53dc9f3',
  'scripts/3/init/gen_words.sh': 'f56602a5d3fffebdf1237b73525db68d7ebbd333e82534e78214de2c169bbd5e',
  'scripts/3/init/install_nettools.sh': '2fc0f9703911f89499d45cf3043378584952d7a07521183237639082c5b197cf',
  'scripts/3/init/nested_folders.sh': '541a2a42507855a5b9b2f01a6ef3d17345a5d27e53233276ecb5be495d7705f2',
  'scripts/3/init/stock-log.sh': '2fc591294f8db0333a95bb382f7e83776ccc6143cca122acc201e8d4222da9fc',
  'scripts/4/check/1.sh': '65ee4f3754ec893af569af2a8d97c232e2952cb884238b3dbf94e34e4001835c',
  'scripts/4/check/containing.py': '107c1f4a4065702276084876fca4316d3d4de14b24c3e7d89cb7e532e0794c31',
  'scripts/4/check/in.py': '35325fb698f3c8d2009c70466237f2d0a98df20bf8e19558d7677beefa8e54b8',
  'scripts/4/check/integer-match.py': '1f1fd1b34581794346c577bea54d50c87a547f483e552259cb66563c25f5fed8',
  'scripts/4/check/size-match.py': 'b0d6ed977b4802f01725edd90c96f056021a75fe09ebf890a1a3a01dfc934b29',
  'scripts/4/check/string-match.py': 'c0afd9384f5c2e492b5c158731e5fefb000692c4ba6a6be89f168aca7e89faec',
  'scripts/4/example/1.sh': '099440ccb493c66235ed6ddbfd81d83bfb56240bb1f88ebe4b775582e53dc9f3',
  'scripts/4/init/gen_words.sh': 'f56602a5d3fffebdf1237b73525db68d7ebbd333e82534e78214de2c169bbd5e',
  'scripts/4/init/install_nettools.sh': '2fc0f9703911f89499d45cf3043378584952d7a07521183237639082c5b197cf',
  'scripts/4/init/nested_folders.sh': '541a2a42507855a5b9b2f01a6ef3d17345a5d27e53233276ecb5be495d7705f2',
  'scripts/4/init/stock-log.sh': '2fc591294f8db0333a95bb382f7e83776ccc6143cca122acc201e8d4222da9fc',
  'scripts/5/check/containing.py': '107c1f4a4065702276084876fca4316d3d4de14b24c3e7d89cb7e532e0794c31',
  'scripts/5/check/in.py': '35325fb698f3c8d2009c70466237f2d0a98df20bf8e19558d7677beefa8e54b8',
  'scripts/5/check/integer-match.py': '1f1fd1b34581794346c577bea54d50c87a547f483e552259cb66563c25f5fed8',
  'scripts/5/check/size-match.py': 'b0d6ed977b4802f01725edd90c96f056021a75fe09ebf890a1a3a01dfc934b29',
  'scripts/5/check/string-match.py': 'c0afd9384f5c2e492b5c158731e5fefb000692c4ba6a6be89f168aca7e89faec',
  'scripts/5/checking/0.sh': '8ddd84de17464a4b6a37e96f5d6ac937ce1dd5c5196eed78bd5a55487d5b67d1',
  'scripts/5/checking/1.sh': '65ee4f3754ec893af569af2a8d97c232e2952cb884238b3dbf94e34e4001835c',
  'scripts/5/checking/2.sh': '1c06c3f29f90b9dd728faf14540bd9602f077af6777baf2c1fe13ae0b5e23285',
  'scripts/5/example/0.sh': '23970a83ef56b0b17071f3408f5ac5e81fd9108df800ca2d33144c203eabd332',
  'scripts/5/example/1.sh': '099440ccb493c66235ed6ddbfd81d83bfb56240bb1f88ebe4b775582e53dc9f3',
  'scripts/5/example/2.sh': 'd21b7deca845f6d815ae7bf6656952a4082046dab0a8c856f9e89d0bce396e86',
  'scripts/5/file.json': '4dec0d0ffb31efc29123d16f09db6c1adffeb0f9d5c791af0acc82e6397f5d63',
  'scripts/5/init/1.sh': 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  'scripts/5/new.json': 'a7a0d6d37ebf6f95e1afc95d1f864fef9dd0d90499976602dc7bde77a348bf26',
  'scripts/5/prompt.md': '002417c87176194e23f417d3e8976d281bdaffb08a9bdcd55d3503784322853d',
  'scripts/6/collected.json': '774b10b0cf309b6f5b6cb6cf0d1f6f9b1fc4f005df49edef14de291037e29b13',
  'scripts/6/collecting.py': 'b19da14975117722e4911eee69f175382a9abe8ff596ba8af8b6e21a0f28f4f4',
  'scripts/6/new.json': '7000869f64649dfc6bdcb0614e04dfe735e4f0c3f8c89e1d31e3707c1b4a3d40',
  'scripts/6/permission.json': '4054ebec780b868f622d3913895504605cf3b49bfb09e55820eeeec7c1e89b16',
  'scripts/6/stackoverflow/spider.py': 'e99c777c93568dbed3c9c31214dbdadaa7bdf478399bc5e5be0f9ea207a2471f',
  'scripts/7/check/1.sh': '65ee4f3754ec893af569af2a8d97c232e2952cb884238b3dbf94e34e4001835c',
  'scripts/7/check/containing.py': '107c1f4a4065702276084876fca4316d3d4de14b24c3e7d89cb7e532e0794c31',
  'scripts/7/check/in.py': '35325fb698f3c8d2009c70466237f2d0a98df20bf8e19558d7677beefa8e54b8',
  'scripts/7/check/integer-match.py': '1f1fd1b34581794346c577bea54d50c87a547f483e552259cb66563c25f5fed8',
  'scripts/7/check/size-match.py': 'b0d6ed977b4802f01725edd90c96f056021a75fe09ebf890a1a3a01dfc934b29',
  'scripts/7/check/string-match.py': 'c0afd9384f5c2e492b5c158731e5fefb000692c4ba6a6be89f168aca7e89faec',
  'scripts/7/example/1.sh': '099440ccb493c66235ed6ddbfd81d83bfb56240bb1f88ebe4b775582e53dc9f3',
  'scripts/7/init/gen_words.sh': 'f56602a5d3fffebdf1237b73525db68d7ebbd333e82534e78214de2c169bbd5e',
  'scripts/7/init/install_nettools.sh': '2fc0f9703911f89499d45cf3043378584952d7a07521183237639082c5b197cf',
  'scripts/7/init/nested_folders.sh': '541a2a42507855a5b9b2f01a6ef3d17345a5d27e53233276ecb5be495d7705f2',
  'scripts/7/init/stock-log.sh': '2fc591294f8db0333a95bb382f7e83776ccc6143cca122acc201e8d4222da9fc',
  'scripts/dev/check/0.sh': 'bc75b2778c644ec42abb46abec6eadf52812f10c02255a1c3b2b55c3ced0ae0c',
  'scripts/dev/check/containing.py': '107c1f4a4065702276084876fca4316d3d4de14b24c3e7d89cb7e532e0794c31',
  'scripts/dev/check/in.py': '35325fb698f3c8d2009c70466237f2d0a98df20bf8e19558d7677beefa8e54b8',
  'scripts/dev/check/integer-match.py': '1f1fd1b34581794346c577bea54d50c87a547f483e552259cb66563c25f5fed8',
  'scripts/dev/check/size-match.py': 'b0d6ed977b4802f01725edd90c96f056021a75fe09ebf890a1a3a01dfc934b29',
  'scripts/dev/check/string-match.py': 'c0afd9384f5c2e492b5c158731e5fefb000692c4ba6a6be89f168aca7e89faec',
  'scripts/dev/example/0.sh': '23970a83ef56b0b17071f3408f5ac5e81fd9108df800ca2d33144c203eabd332',
  'scripts/dev/init/stock-log.sh': '2fc591294f8db0333a95bb382f7e83776ccc6143cca122acc201e8d4222da9fc',
  'train_0317/training.json': '35cbd6cc07646eab32161d64260bbcc4d0cab145a7caae69c236320a9d7c7685',
}

/** AgentBench's `data/knowledgegraph/`. */
export const knowledgeGraphChecksums: Readonly<Record<string, string>> = {
  'dev.json': '5e28f8504ef98c513fa90090fc9543dbad54990723cc28854e2ba3ce1536d994',
  'kg_rl_all.json': '54a1d671f7669898ddc195638efccdd96f3c3baf2fc644d88bcabd31a0d885f4',
}

/** AgentBench's `data/dbbench/`. */
export const databaseChecksums: Readonly<Record<string, string>> = {
  'dev.jsonl': 'eb941c58a7a5651357b19e46aa05070f6cd5a7d83ce70cefd24aa3581e1e1130',
}

/** BFCL's multi-turn part, version 3. */
export const bfclV3Checksums: Readonly<Record<string, string>> = {
  'BFCL_v3_multi_turn_base.json': 'fe5c442849bdb2c2cdedc91f377411ff7fc6cd11af299766f4554d71d3d40f98',
  'BFCL_v3_multi_turn_long_context.json': '17898c71fc5ceca4538e812602bc0338efafe665594380094bd4288f10394f51',
  'BFCL_v3_multi_turn_miss_func.json': '4a3a862f3e897d121ad94aa2c3f29ea752b7f7ac4eac6a23c8d502d1143e3492',
  'BFCL_v3_multi_turn_miss_param.json': '25509d5c441017c51de784e7670647dbec11a22fe0640990b0dafabf32e8c8d1',
  'multi_turn_func_doc/gorilla_file_system.json':
    '26c01bed25bf7affbc8d281cc8124ccdc220a64c374ac4a7a9181dea0a0468ee',
  'multi_turn_func_doc/math_api.json': '83fa31708c89442bdcf12ac4dfbe3be8663ec9183a1b1524a9fda98164bc7e0b',
  'multi_turn_func_doc/message_api.json': '2855068a0e77c4f1861fb2c1aa581590af85eb4b56994c6ebf79e30afb83be24',
  'multi_turn_func_doc/posting_api.json': '87f9fc404a06e4107d7c366f1399c596440e84c16cb119faf374b2f532d86e8b',
  'multi_turn_func_doc/ticket_api.json': '1d78a0bbc15ca2dca3a2228be690b8b929783b2715175cd05b80ee2106581897',
  'multi_turn_func_doc/trading_bot.json': 'c04b85e9ea0795a0fea1e1c3608795aa720edde52539b2e71897aa207976a25f',
  'multi_turn_func_doc/travel_booking.json':
    '364ca923e25d17b26cb419367f2fd38c9706b440483c14ec3c6b567e21c48ab2',
  'multi_turn_func_doc/vehicle_control.json':
    'a0366b59ad6eabb10410eadf95aa5991262ad0bbc3f560ebba45d7fc3e4f2808',
  'possible_answer/BFCL_v3_multi_turn_base.json':
    '6ea6bf48a2fc6067b57a289d314e7dc0582b12e22be53c8f7681599fba84a028',
  'possible_answer/BFCL_v3_multi_turn_long_context.json':
    '387fae6ec3146c1fd4cce8b901a69b1ec7a0844aa211f425f79049d35dd0b433',
  'possible_answer/BFCL_v3_multi_turn_miss_func.json':
    'e47b7f29224e43b8991ef6f5e6e01a936a4dccad17d1484610e6a33f27998b34',
  'possible_answer/BFCL_v3_multi_turn_miss_param.json':
    '585d97fd579965a14b63d09882a680bcfbd1826ccf3e3a5de6fa68363c98a704',
}
