//! What a room asks of the services, and what they answer.

/// Something a room asks for. It never waits: the answer is an input of a later tick.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Read an object from storage.
    Read {
        /// The account whose object it is; empty for one of the game's own.
        owner: String,
        /// The collection.
        collection: String,
        /// The key in it.
        key: String,
    },
    /// Write an object to storage. What must be durable stays pending in the game until the answer is [`Answer::Done`].
    Write {
        /// The account whose object it is; empty for one of the game's own.
        owner: String,
        /// The collection.
        collection: String,
        /// The key in it.
        key: String,
        /// The new content.
        value: Vec<u8>,
    },
    /// Submit a score to a leaderboard.
    SubmitScore {
        /// The leaderboard.
        board: String,
        /// The account that earned it.
        user: String,
        /// The score.
        score: i64,
    },
    /// Call any other service.
    Call {
        /// Which one.
        name: String,
        /// What to tell it.
        payload: Vec<u8>,
    },
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// It is done, durably where that applies.
    Done,
    /// What was asked for, if it exists.
    Value(Option<Vec<u8>>),
    /// It failed, and why.
    Failed(String),
}

/// Requests of one room that wait for an answer; a further one fails at once.
pub const REQUESTS_MAX: usize = 256;
