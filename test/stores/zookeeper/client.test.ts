// One ensemble serves them all: it is started by what they share.
import './client/opening.ts'
import './client/requests.ts'
import './client/watches.ts'
import './client/session.ts'
