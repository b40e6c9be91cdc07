//! Sample groups: members of every role, tags, join requests, a ban and chat messages.

use aether_services::account::SignedIn;
use aether_services::chat::{Channel, NewMessage, code};
use aether_services::group::{Group, NewGroup, RoleChange};
use aether_services::{GrpcCode, ServiceError, Services};
use serde_json::json;
use uuid::Uuid;

/// A sample group. Numbers are those of the sample players.
struct SampleGroup {
    name: &'static str,
    description: &'static str,
    language: &'static str,
    is_open: bool,
    tags: &'static [&'static str],
    superadmin: usize,
    admins: &'static [usize],
    members: &'static [usize],
    requests: &'static [usize],
    banned: &'static [usize],
    /// Senders and texts of chat messages.
    messages: &'static [(usize, &'static str)],
}

const GROUPS: [SampleGroup; 3] = [
    SampleGroup {
        name: "Night Owls",
        description: "Relaxed matches after ten.",
        language: "en",
        is_open: true,
        tags: &["casual", "evening"],
        superadmin: 0,
        admins: &[1],
        members: &[2, 3, 4],
        requests: &[],
        banned: &[],
        messages: &[(0, "Welcome to the Night Owls!"), (2, "Hello! Anyone for a match?"), (1, "In ten minutes.")],
    },
    SampleGroup {
        name: "Iron Ring",
        description: "Ranked duels. Ask to join, and bring your score.",
        language: "en",
        is_open: false,
        tags: &["pvp", "ranked"],
        superadmin: 5,
        admins: &[6],
        members: &[7],
        requests: &[8, 9],
        banned: &[3],
        messages: &[(6, "The cup begins on Monday."), (7, "I am ready.")],
    },
    SampleGroup {
        name: "Sternwarte",
        description: "Ruhige Runden am Wochenende.",
        language: "de",
        is_open: true,
        tags: &["casual", "weekend"],
        superadmin: 9,
        admins: &[],
        members: &[0, 8],
        requests: &[],
        banned: &[],
        messages: &[(9, "Bis Samstag!")],
    },
];

/// Adds the groups that do not exist. Returns their number.
pub(super) async fn add_groups(services: &Services, players: &[SignedIn]) -> Result<usize, ServiceError> {
    let mut added = 0;
    for sample in &GROUPS {
        let new = NewGroup {
            name: sample.name.to_owned(),
            description: sample.description.to_owned(),
            language: sample.language.to_owned(),
            is_open: sample.is_open,
            tags: sample.tags.iter().map(|tag| (*tag).to_owned()).collect(),
            ..NewGroup::default()
        };
        match services.groups.create(players[sample.superadmin].user, new).await {
            // Seeded before, or a group of this name exists.
            Err(error) if error.code == GrpcCode::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(group) => {
                fill(services, &group, sample, players).await?;
                added += 1;
            }
        }
    }
    Ok(added)
}

async fn fill(
    services: &Services,
    group: &Group,
    sample: &SampleGroup,
    players: &[SignedIn],
) -> Result<(), ServiceError> {
    let ids = |numbers: &[usize]| numbers.iter().map(|number| players[*number].user).collect::<Vec<Uuid>>();
    services.groups.add(None, group.id, [ids(sample.admins), ids(sample.members)].concat()).await?;
    services.groups.change_roles(None, group.id, RoleChange::Promote, ids(sample.admins)).await?;
    services.groups.change_roles(None, group.id, RoleChange::Ban, ids(sample.banned)).await?;
    for user in ids(sample.requests) {
        services.groups.join(group.id, user).await?;
    }
    for (sender, text) in sample.messages {
        let message = NewMessage {
            channel: Channel::group(group.id),
            code: code::CHAT,
            sender: Some(players[*sender].user),
            username: players[*sender].username.clone(),
            content: json!({ "text": text }).to_string(),
        };
        services.chat.send_new(message, true).await?;
    }
    Ok(())
}
