//! Functions that are called when sessions of the socket start and end.

use crate::caller::CallContext;
use std::sync::Arc;

/// Function that is called with the context of a socket. It must return at once: it runs on the thread of the connection.
pub type SessionHandler = Box<dyn Fn(&Arc<CallContext>) + Send + Sync>;

/// Functions that are called when sessions of the socket start and end.
#[derive(Default)]
pub struct SessionHandlers {
    /// Called once a session is connected.
    pub start: Vec<SessionHandler>,
    /// Called once a session has ended.
    pub end: Vec<SessionHandler>,
}

/// Session of a socket that was reported as started. Its end is reported when this is dropped.
pub struct ReportedSession {
    handlers: Arc<SessionHandlers>,
    context: Arc<CallContext>,
}

impl ReportedSession {
    /// Reports the start of a session.
    #[must_use]
    pub fn start(handlers: &Arc<SessionHandlers>, context: &Arc<CallContext>) -> ReportedSession {
        handlers.start.iter().for_each(|handler| handler(context));
        ReportedSession { handlers: Arc::clone(handlers), context: Arc::clone(context) }
    }
}

impl Drop for ReportedSession {
    fn drop(&mut self) {
        self.handlers.end.iter().for_each(|handler| handler(&self.context));
    }
}
