//! Modules of the size that games have, written as developers of existing servers write them.

mod clan_chat;
mod daily_rewards;
mod support;
mod tictactoe;
