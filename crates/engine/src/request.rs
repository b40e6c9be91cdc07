//! Requests of a room to the services, and their answers.

/// A request of a room to the services. Send it with [`crate::Context::request`]; the answer arrives at a later tick in
/// [`crate::Game::answer`].
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Reads an object from storage. Answered by [`Answer::Value`]. An object that a client may write counts as missing;
    /// objects written by [`Request::Write`] are never among those.
    Read {
        /// Account that owns the object; empty for an object of the game itself.
        owner: String,
        /// Collection of the object.
        collection: String,
        /// Key in the collection.
        key: String,
    },
    /// Writes an object to storage, which its owner may read and only server code may change. It replaces an object that a
    /// client wrote. The write is durable only after [`Answer::Done`].
    Write {
        /// Account that owns the object; empty for an object of the game itself.
        owner: String,
        /// Collection of the object.
        collection: String,
        /// Key in the collection.
        key: String,
        /// New content of the object.
        value: Vec<u8>,
    },
    /// Reads a profile of an account. Answered by [`Answer::Value`] with a JSON object that has `id`, `name` and `data`,
    /// or none for a guest. The account may write all three, so they are wishes of the player, such as an appearance.
    Profile {
        /// Account that owns the profile.
        user: String,
        /// Id of the profile. The active profile answers for `None`, and for an id that the account does not have.
        profile: Option<String>,
    },
    /// Submits a score to a leaderboard.
    SubmitScore {
        /// Id of the leaderboard.
        board: String,
        /// Account that earned the score.
        user: String,
        /// Score to submit.
        score: i64,
    },
    /// Calls a function by name.
    Call {
        /// Name of the function.
        name: String,
        /// Payload of the call.
        payload: Vec<u8>,
    },
}

/// Answer to a [`Request`].
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The request is done. A write is durable.
    Done,
    /// The value that was read or returned, if there is one.
    Value(Option<Vec<u8>>),
    /// The request failed, with a sentence that says why.
    Failed(String),
}

/// Maximum number of pending requests of one room. Further requests fail.
pub const REQUESTS_MAX: usize = 256;
