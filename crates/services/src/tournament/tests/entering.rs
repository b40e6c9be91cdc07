//! Entering periods: joining, sizes, and erased owners.

use super::*;

#[tokio::test]
async fn a_tournament_that_requires_joining_is_joined_in_each_period() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        fixture.tournaments.create(with(nightly("night"), |terms| terms.join_required = true)).await.unwrap();
        let early = fixture.tournaments.join("night", owner(1)).await.unwrap_err();
        assert_eq!(early.code, GrpcCode::InvalidArgument, "{}: not active", database.name);
        for night in 0..2 {
            fixture.set(MIDNIGHT + night * DAY);
            let refused = fixture.submit("night", owner(1), 1).await.unwrap_err();
            assert_eq!(refused.code, GrpcCode::FailedPrecondition, "{}: not joined", database.name);
            assert!(fixture.tournaments.join("night", owner(1)).await.unwrap());
            assert!(!fixture.tournaments.join("night", owner(1)).await.unwrap(), "joining again has no effect");
            assert_eq!(fixture.find("night").await.size, 1);
            assert_eq!(fixture.scores("night", 0).await, [0_i64; 0], "those who have not played are not ranked");
            fixture.submit("night", owner(1), 1).await.unwrap();
        }
        assert_eq!(fixture.tournaments.join("missing", owner(1)).await.unwrap_err().code, GrpcCode::NotFound);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_entrants_never_exceed_the_size() {
    const PLACES: i64 = 7;
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        fixture.tournaments.create(with(nightly("night"), |terms| terms.max_size = PLACES)).await.unwrap();
        for night in 0..2 {
            fixture.set(MIDNIGHT + night * DAY);
            let entries: Vec<_> = (0..60)
                .map(|number: u128| {
                    let tournaments = Arc::clone(&fixture.tournaments);
                    // Half of them join, and half submit a score. Each owner comes twice.
                    let owner = owner(number / 2);
                    tokio::spawn(async move {
                        match number % 2 {
                            0 => tournaments.join("night", owner).await.map(|_| owner),
                            _ => tournaments.write(&Caller::Server, "night", write(owner, 1)).await.map(|_| owner),
                        }
                    })
                })
                .collect();
            let mut entered = std::collections::BTreeSet::new();
            for entry in entries {
                match entry.await.unwrap() {
                    Ok(owner) => drop(entered.insert(owner)),
                    Err(error) => assert_eq!(error.code, GrpcCode::InvalidArgument, "{}: {error}", database.name),
                }
            }
            assert_eq!(entered.len() as i64, PLACES, "{}", database.name);
            let shown = fixture.find("night").await;
            assert_eq!((shown.size, shown.can_enter), (PLACES, false), "{}", database.name);
            let inside = *entered.first().unwrap();
            fixture.submit("night", inside, 5).await.unwrap();
        }
    }
}

#[tokio::test]
async fn an_erased_owner_frees_the_place() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        fixture.tournaments.create(with(once("duel"), |terms| terms.max_size = 2)).await.unwrap();
        fixture.submit("duel", owner(1), 1).await.unwrap();
        fixture.submit("duel", owner(2), 2).await.unwrap();
        assert!(fixture.tournaments.join("duel", owner(3)).await.is_err());
        let (boards, tournaments) = (Arc::clone(&fixture.boards), Arc::clone(&fixture.tournaments));
        let erased = fixture.store.write_in_order(Leaderboards::turn(owner(1)), move |transaction| {
            boards.forget_within(transaction, owner(1))?;
            tournaments.forget_within(transaction, owner(1))?;
            let remember = "INSERT INTO erasures (user_id, erased_at) VALUES (?1, 1)";
            transaction.execute(remember, aether_store::values![owner(1)])
        });
        erased.await.map_err(|error: StoreError| error).unwrap();
        assert_eq!(fixture.scores("duel", 0).await, [2], "{}", database.name);
        assert_eq!(fixture.find("duel").await.size, 1);
        for error in [
            fixture.tournaments.join("duel", owner(1)).await.unwrap_err(),
            fixture.submit("duel", owner(1), 9).await.unwrap_err(),
        ] {
            assert_eq!(error.code, GrpcCode::NotFound, "{}: the account is gone", database.name);
        }
        assert_eq!(fixture.find("duel").await.size, 1, "a refused entry takes no place");
        assert!(fixture.tournaments.join("duel", owner(3)).await.unwrap());
    }
}

#[tokio::test]
async fn a_deleted_tournament_is_gone_with_its_entrants() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        fixture.tournaments.create(with(once("cup"), |terms| terms.max_num_score = 1)).await.unwrap();
        fixture.submit("cup", owner(1), 1).await.unwrap();
        assert!(fixture.tournaments.delete("cup").await.unwrap());
        assert!(!fixture.tournaments.delete("cup").await.unwrap());
        assert_eq!(fixture.submit("cup", owner(1), 1).await.unwrap_err().code, GrpcCode::NotFound);
        fixture.tournaments.create(with(once("cup"), |terms| terms.max_num_score = 1)).await.unwrap();
        assert_eq!(fixture.find("cup").await.size, 0, "{}", database.name);
        assert_eq!(fixture.submit("cup", owner(1), 2).await.unwrap().num_score, 1);
    }
}
