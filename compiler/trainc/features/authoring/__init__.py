"""What helps to write and try jobs: new ones, editors, SDK scripts, notebooks, sweeps, runs, pictures."""
