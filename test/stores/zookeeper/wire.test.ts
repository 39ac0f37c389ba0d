// One ensemble serves them all: it is started by what they share.
import './wire/opening.ts'
import './wire/requests.ts'
import './wire/watches.ts'
import './wire/session.ts'
