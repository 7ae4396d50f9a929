/* allreduce_mpi ELEMENTS ROUNDS: rank 0 prints the mean time in ms of summing so many floats over all ranks. Built by mpicc. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

static double reduce(const float *from, float *to, int count)
{
        double start;

        MPI_Barrier(MPI_COMM_WORLD);
        start = MPI_Wtime();
        MPI_Allreduce(from, to, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        return MPI_Wtime() - start;
}

int main(int argc, char **argv)
{
        int count = argc > 1 ? atoi(argv[1]) : 1, rounds = argc > 2 ? atoi(argv[2]) : 1, rank;
        float *from = malloc((size_t)count * sizeof *from), *to = malloc((size_t)count * sizeof *to);
        double sum = 0;

        MPI_Init(&argc, &argv);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        if (!from || !to)
                MPI_Abort(MPI_COMM_WORLD, 1);
        for (int i = 0; i < count; i++)
                from[i] = to[i] = 1;
        reduce(from, to, count);
        for (int round = 0; round < rounds; round++)
                sum += reduce(from, to, count);
        if (rank == 0)
                printf("%.6f\n", sum * 1e3 / rounds);
        MPI_Finalize();
        free(from);
        free(to);
        return 0;
}
